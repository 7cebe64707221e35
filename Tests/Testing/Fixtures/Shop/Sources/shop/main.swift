import Stock

var stock = Stock()
stock.add(3, of: "pens")
print("pens:", stock.count(of: "pens"))
