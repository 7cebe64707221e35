// Input that is known before it comes: characters of strings, and elements of documents that were read before.

extension XMLScanner {
    /// Makes a scanner of one element, with what the document type declares; the namespaces in scope are the caller's to give.
    ///
    /// The input is in UTF-8.
    init(ofElementWith types: DocumentTypes?, isStandalone: Bool?, options: XMLReaderOptions) {
        self.init(options: options)
        tokenizer.types = types
        tokenizer.isStandalone = isStandalone
        tokenizer.phase = .prologWithType
        input.takeText()
    }

    /// Says that the input, of which nothing has come, is characters of strings.
    @usableFromInline mutating func takeText() { input.takeText() }
}
