"""What `joint` weighs: a tree of classes, what a class costs in columns, and what its items are likely to lose."""
