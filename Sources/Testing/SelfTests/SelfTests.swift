// Nothing needs to be here: building this target runs the in-class tests of all modules.
