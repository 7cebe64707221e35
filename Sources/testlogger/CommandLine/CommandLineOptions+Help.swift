// What is said of the options to whoever asks.

extension CommandLineOptions {
    static let help = """
        usage: testlogger [options] [module | image | object… | file.swift:line]…

        Runs the tests that the types of a module list for themselves (testSelectors), and prints each failure as a
        compiler would: path:line:column: error: got 4 instead of expected 5 …

        A module is one that 'swift build' has built here with the plugin InClassTests; an image is an executable linked
        with inclass_main as its main function; objects (*.o) are linked into one; a line selects the test around it.
        Without any of these, all modules of the package are tested.

        what is run
              --filter PATTERN     only tests whose Type.test matches this extended regular expression; may be repeated
              --skip PATTERN       no tests whose Type.test matches; may be repeated
              --exact              patterns are whole names instead, as --list prints them
              --test-type NAME     the lists of this name instead of 'unit'; may be repeated
              --failed             only what failed in the last run
              --changed            only tests in sources that have changed since the last run
              --shard I/N          only the I-th of N even parts, for N machines
              --no-tests WHAT      what an empty choice ends with: pass or fail (default: fail, but pass where it may
                                   well be empty, with --shard, --failed and --changed)
          -l, --list               run nothing; print the selected tests, one a line

        how it is run
              --timeout MS         how long a test may take that sets no limit of its own (default 10000)
          -j, --jobs N             how many workers at once, when there is enough to do (default: the processors)
              --fail-fast          begin nothing after the first failure
              --retries N          run a failed test up to N times more, each time in a process of its own; one that
                                   passes then is flaky, which is shown and counted, but is no failure
              --fail-on-flaky      a flaky test makes the exit status 1, although it is counted as passed
              --repeat N           run everything N times
              --until-failure      run everything until a test fails, or --repeat N times at the most
              --watch              build and run again whenever a source is saved
              --shuffle [SEED]     in random order; each failure names the seed that repeats it

        what the tests do not notice
              --mutants            small changes of the sources, one at a time, on lines that the tests reach: of modules,
                                   of file.swift or of file.swift:line. Each that no test notices is a warning. With
                                   --changed only of sources that have changed since theirs were all tried; --shuffle
                                   chooses others when there is not the time for all
              --budget SECONDS     how long that may take (default 300)

        what is done about failures
              --accept             write what was got in place of each literal or golden file that was expected; with
                                   file.swift:line, only there
              --debug Type.test    start gdb or lldb on one test, with nothing kept from the terminal

        what is printed
          -v, --verbose            every test with its outcome
          -vv                      every test when it begins, too
              --slow MS            a warning for each test that takes longer, and the ten slowest of them at the end
              --no-capture         what tests print, at once and all of it; in one worker
              --color WHEN         auto (on a terminal, unless NO_COLOR is set), always or never
              --junit PATH         JUnit's XML into a file, too, or with '-' to the standard output instead
              --json PATH          events as JSON lines into a file, too, or with '-' to the standard output instead
              --github             annotations for GitHub's pages, and its step summary; by itself inside GitHub Actions
              --coverage           the lines that the tests reach, of a build with --enable-code-coverage, as a summary
                                   and in lcov's form beside the image
              --stable-output      no times, and paths relative to the package, so that output can be compared
              --version            the version of this program
          -h, --help               this

        a package's own options
          The file .testlogger in the package's folder holds options, one a line, and '#' begins a comment. They are of
          builds, too; an option on the command line stands in place of all that the file says of it. It may hold
          --test-type, --skip, --timeout, --slow, --jobs, --retries, --fail-on-flaky, --fail-fast, --color.

        on several machines
          Each machine builds, and runs its part; the parts are the whole, and an empty part passes. With GitHub Actions:
              strategy: { matrix: { shard: [1, 2, 3] } }
              steps:
                - run: swift package testlogger --shard ${{ matrix.shard }}/3 --junit tests.xml
          Annotations and the step summary come by themselves there.

        temporary directories
          'try temporaryDirectory()' makes one for the running test alone. It goes when the test has passed; that of a
          failed test stays until the module's next run, and a note names it.

        exit status: 0 all passed, 1 a test failed, 2 the command line is wrong, 3 the tests could not be run,
        4 there is nothing to run, 128 and the signal's number when it was ended by one
        """
}
