// Scans input with known properties: the text of strings, and elements of documents that were read before.

extension XMLScanner {
    /// Makes a scanner for one element, with the declarations of its document type. The caller sets the namespaces in scope.
    ///
    /// The input is in UTF-8.
    init(ofElementWith types: DocumentTypes?, isStandalone: Bool?, options: XMLReaderOptions) {
        self.init(options: options)
        tokenizer.types = types
        tokenizer.isStandalone = isStandalone
        tokenizer.phase = .prologWithType
        input.takeText()
    }

    /// Marks the input as the text of strings. Must be called before the first chunk.
    @usableFromInline mutating func takeText() { input.takeText() }
}
