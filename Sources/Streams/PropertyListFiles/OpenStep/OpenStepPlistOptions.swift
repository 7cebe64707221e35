// What readers and writers of the old text form can be told, once, when they are made.

public import PlistStreaming

/// The options of a reader of property lists in the old text form.
public struct OpenStepPlistReaderOptions: Sendable {
    /// The bounds of the input.
    public var limits: StreamLimits

    /// Creates options.
    public init(limits: StreamLimits = .standard) {
        self.limits = limits
    }
}

/// The options of a writer of property lists in the old text form.
public struct OpenStepPlistWriterOptions: Sendable, Hashable {
    /// How the text is laid out.
    public enum Layout: Sendable, Hashable {
        /// Without whitespace, but for a space around `=`.
        case compact
        /// A line for each element and member, indented by a number of spaces a level.
        case pretty(indent: Int)
    }

    /// What becomes of Booleans, numbers and dates, which the form of OpenStep does not have.
    public enum Scalars: Sendable, Hashable {
        /// They are refused with an error.
        case reject
        /// They are written as GNUstep does, `<*I5>`, `<*R0.5>`, `<*BY>` and `<*D2001-01-01 00:00:00 +0000>`, which Foundation
        /// does not read.
        case gnustep
        /// They become strings: `1` and `0`, digits, and `2001-01-01 00:00:00 +0000`; so their types are lost.
        case strings
    }

    /// How the text is laid out.
    public var layout: Layout
    /// What becomes of Booleans, numbers and dates.
    public var scalars: Scalars
    /// What becomes of the fractions of seconds of dates.
    public var dateFractions: PlistDateFractions
    /// The deepest nesting that is written.
    public var depthLimit: Int

    /// Creates options; without arguments for a pretty text that keeps all types.
    public init(
        layout: Layout = .pretty(indent: 4), scalars: Scalars = .gnustep, dateFractions: PlistDateFractions = .reject,
        depthLimit: Int = 1024
    ) {
        self.layout = layout
        self.scalars = scalars
        self.dateFractions = dateFractions
        self.depthLimit = depthLimit
    }
}
