// Nothing needs to be here: building this target runs the in-class tests of the tester's own modules.
