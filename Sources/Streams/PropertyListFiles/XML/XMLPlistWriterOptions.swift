// The options of a writer of property lists in XML.

/// The options of a writer of property lists in XML.
public struct XMLPlistWriterOptions: Sendable, Hashable {
    /// The policy for the fractions of seconds of dates.
    public var dateFractions: PlistDateFractions
    /// The maximum nesting depth to write.
    public var depthLimit: Int

    /// Creates options.
    ///
    /// - Parameters:
    ///   - dateFractions: By default, fractions throw an error, because the form has whole seconds.
    ///   - depthLimit: The default is 1,024.
    public init(dateFractions: PlistDateFractions = .reject, depthLimit: Int = 1024) {
        self.dateFractions = dateFractions
        self.depthLimit = depthLimit
    }
}
