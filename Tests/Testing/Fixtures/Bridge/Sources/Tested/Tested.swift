// Has the in-class tests of Ledger run by every build.
