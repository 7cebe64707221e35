// Tests the package's C code with the sanitizer that detects reads of uninitialized memory. Swift has no uninitialized
// memory, and swiftc doesn't have this sanitizer.

import Foundation
import Testing

extension TestloggerTests {
    @Suite
    struct UninitializedMemoryTests {
        #if os(Linux) && arch(x86_64)
        /// A program that scans different numbers of blocks of random text, with every width that the processor
        /// supports.
        private static let program = """
            #include "CBlockMasks.h"
            #include <stdlib.h>
            #include <string.h>

            int main(void) {
                const char *classes[] = {"\\"", "\\\\", "[{", "]}", ",", ":", "\\t\\n\\r", " "};
                const char text[] = "{\\"a\\\\\\"\\\\\\\\\\": [1, true]} \\\\\\\\\\\\ \\"\\n\\t";
                uint8_t low[16] = {0}, high[16] = {0};
                for (int class = 0; class < 8; class++) {
                    for (const char *byte = classes[class]; *byte; byte++) {
                        low[*byte & 15] |= 1 << class;
                        high[*byte >> 4] |= 1 << class;
                    }
                }
                uint32_t random = 7;
                uint64_t sum = 0;
                for (int count = 1; count <= cblockmasks_capacity; count++) {
                    for (int width = 16; width <= cblockmasks_width(); width *= 2) {
                        for (int round = 0; round < 8; round++) {
                            uint8_t *bytes = malloc(count * 64);
                            for (int place = 0; place < count * 64; place++) {
                                random = random * 1664525 + 1013904223;
                                const int isText = round % 2 == 0 || (random >> 28) == 0;
                                bytes[place] = isText ? text[(random >> 16) % (sizeof text - 1)] : round % 4 == 1 ? 'a' : '\\\\';
                            }
                            uint64_t masks[7 * cblockmasks_stride], words[8 * cblockmasks_capacity];
                            struct cblockmasks_tokens tokens = {0};
                            uint32_t previous = 0;
                            sum += cblockmasks_find_tokens(width, bytes, count, low, high, &tokens, masks);
                            sum += cblockmasks_classify(width, bytes, count, low, high, &previous, words);
                            for (int mask = 0; mask < 7; mask++) {
                                for (int block = 0; block < count; block++) sum += masks[mask * cblockmasks_stride + block] & 1;
                            }
                            for (int word = 0; word < 8 * count; word++) sum += words[word] & 1;
                            free(bytes);
                        }
                    }
                }
                return sum == 0;
            }
            """

        @Test func masksReadNoUninitializedMemory() throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "uninitialized-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            try Data(Self.program.utf8).write(to: folder.appending(path: "main.c"))
            let sources = Fixtures.checkout.appending(path: "Sources/Streams/CBlockMasks").path
            let compiled = try RunningPrograms.run(
                [
                    "clang", "-g", "-O1", "-fsanitize=memory", "-I\(sources)/include", "main.c",
                    "\(sources)/CBlockMasks.c", "-o", "main",
                ], in: folder)
            try #require(compiled.status == 0, "\(compiled)")
            let result = try RunningPrograms.run(["./main"], in: folder)
            #expect(result.status == 0, "\(result)")
        }
        #endif
    }
}
