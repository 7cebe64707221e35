// The options of readers and writers of the old text form.

public import PlistStreaming

/// The options of a reader of property lists in the old text form.
public struct OpenStepPlistReaderOptions: Sendable {
    /// The limits of the input.
    public var limits: StreamLimits

    /// Creates options.
    public init(limits: StreamLimits = .standard) {
        self.limits = limits
    }
}

/// The options of a writer of property lists in the old text form.
public struct OpenStepPlistWriterOptions: Sendable, Hashable {
    /// A layout of the text.
    public enum Layout: Sendable, Hashable {
        /// Without whitespace, except for a space around `=`.
        case compact
        /// A line for each element and member, indented by a number of spaces a level.
        case pretty(indent: Int)
    }

    /// A policy for Booleans, numbers and dates, which the OpenStep form doesn't have.
    public enum Scalars: Sendable, Hashable {
        /// Reports an error.
        case reject
        /// Writes them as GNUstep does: `<*I5>`, `<*R0.5>`, `<*BY>` and `<*D2001-01-01 00:00:00 +0000>`. Foundation
        /// can't read these.
        case gnustep
        /// Writes them as strings: `1` and `0`, digits, and `2001-01-01 00:00:00 +0000`. Their types are lost.
        case strings
    }

    /// The layout of the text.
    public var layout: Layout
    /// The policy for Booleans, numbers and dates.
    public var scalars: Scalars
    /// The policy for the fractions of seconds of dates.
    public var dateFractions: PlistDateFractions
    /// The maximum nesting depth to write.
    public var depthLimit: Int

    /// Creates options. The defaults are for a pretty text that keeps all types.
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
