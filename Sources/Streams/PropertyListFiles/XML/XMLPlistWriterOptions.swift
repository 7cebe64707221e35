// What a writer of property lists in XML can be told, once, when it is made.

/// The options of a writer of property lists in XML.
public struct XMLPlistWriterOptions: Sendable, Hashable {
    /// What becomes of the fractions of seconds of dates.
    public var dateFractions: PlistDateFractions
    /// The deepest nesting that is written.
    public var depthLimit: Int

    /// Creates options.
    ///
    /// - Parameters:
    ///   - dateFractions: Refused unless given: the form has whole seconds.
    ///   - depthLimit: 1,024 unless given.
    public init(dateFractions: PlistDateFractions = .reject, depthLimit: Int = 1024) {
        self.dateFractions = dateFractions
        self.depthLimit = depthLimit
    }
}
