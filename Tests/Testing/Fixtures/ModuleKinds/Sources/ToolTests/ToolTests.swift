// Tests the types of the executable that this target depends on.
