import Kinds
import LifeCycles
import Resources

print(Zebra(), Texts.simple() ?? "none")
