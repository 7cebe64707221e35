import Stacks

var stack = Stack()
stack.push(1)
stack.push(2)
print("popped \(stack.pop() ?? 0)")
