// Bar charts of results as SVG. Each suite has one picture for light pages and one for dark pages, whose name ends in
// `~dark` as DocC expects. The bars of a group share one scale. The package's own bars are colored.

import Foundation

struct Plot {
    /// The file name without its extension.
    let name: String
    private let results: Results
    private let groups: [GroupResult]

    /// Returns the charts of all measured suites, with the groups in their original order.
    static func all(of results: Results) -> [Plot] {
        var names: [String] = []
        for group in results.groups where !names.contains(group.suite) { names.append(group.suite) }
        return names.map { name in
            Plot(name: name, results: results, groups: results.groups.filter { $0.suite == name })
        }
    }

    /// Writes both files of each chart.
    static func write(_ results: Results, to folder: String) throws {
        let folder = URL(filePath: folder)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for plot in all(of: results) {
            for (ending, colors) in [("", Colors.light), ("~dark", .dark)] {
                let file = folder.appending(path: "\(plot.name)\(ending).svg")
                try Data(plot.svg(colors).utf8).write(to: file, options: .atomic)
            }
        }
    }

    /// The colors of a picture. The background is included because a picture can appear on any page.
    private struct Colors {
        let page, text, quiet, own, peer: String

        static let light = Colors(
            page: "#ffffff", text: "#1f2328", quiet: "#59636e", own: "#c2410c", peer: "#b6bec8")
        static let dark = Colors(
            page: "#0d1117", text: "#f0f6fc", quiet: "#9198a1", own: "#fb923c", peer: "#4b535d")
    }

    // MARK: Drawing

    // Lengths in the picture's own units, which are pixels at full size.
    private static let width = 960.0
    private static let barStart = 330.0
    private static let barWidth = 340.0
    private static let rowHeight = 22.0

    private func svg(_ colors: Colors) -> String {
        var body = ""
        var y = 8.0
        func text(_ string: String, x: Double, size: Int = 12, _ color: String, _ more: String = "") {
            body += "<text x=\"\(fixed(x, 0))\" y=\"\(fixed(y + 15, 0))\" font-size=\"\(size)\" fill=\"\(color)\""
            body += "\(more)>\(Self.escaped(string))</text>\n"
        }
        for group in groups {
            text("\(group.suite)/\(group.name)", x: 8, size: 14, colors.text, " font-weight=\"600\"")
            text(group.scale, x: Self.width - 8, size: 11, colors.quiet, " text-anchor=\"end\"")
            y += Self.rowHeight + 4
            let values = group.cases.map(group.value)
            let longest = values.max() ?? 1
            for (one, value) in zip(group.cases, values) {
                text(one.name, x: Self.barStart - 8, colors.text, " text-anchor=\"end\"")
                let length = max(1, value / longest * Self.barWidth)
                body += "<rect x=\"\(fixed(Self.barStart, 0))\" y=\"\(fixed(y + 3, 0))\" width=\"\(fixed(length, 1))\""
                body += " height=\"\(fixed(Self.rowHeight - 6, 0))\" rx=\"2\""
                body += " fill=\"\(one.isPeer ? colors.peer : colors.own)\"/>\n"
                let ratio = one.ratios.first.map { ", \(fixed($0.ratio, 2)) × \($0.peer)" } ?? ""
                text(group.number(value) + ratio, x: Self.barStart + length + 6, size: 11, colors.quiet)
                y += Self.rowHeight
            }
            y += 14
        }
        text(
            "\(results.machine), \(results.date); median of \(results.rounds)", x: 8, size: 11, colors.quiet)
        y += Self.rowHeight + 4
        let height = fixed(y, 0)
        return """
            <svg xmlns="http://www.w3.org/2000/svg" width="\(fixed(Self.width, 0))" height="\(height)" \
            viewBox="0 0 \(fixed(Self.width, 0)) \(height)" role="img" \
            font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif">
            <title>\(Self.escaped(groups.map { "\($0.suite)/\($0.name)" }.joined(separator: ", ")))</title>
            <rect width="\(fixed(Self.width, 0))" height="\(height)" fill="\(colors.page)"/>
            \(body)</svg>

            """
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}

extension GroupResult {
    private enum Scale { case megabytes, units, milliseconds }

    private var kind: Scale {
        if cases.contains(where: { $0.megabytesPerSecond != nil }) { return .megabytes }
        return unit == "run" ? .milliseconds : .units
    }

    /// The unit of the bars' lengths.
    fileprivate var scale: String {
        switch kind {
        case .megabytes: "MB/s, longer is faster"
        case .units: "\(unit)s a second, longer is faster"
        case .milliseconds: "milliseconds, shorter is faster"
        }
    }

    fileprivate func value(_ one: CaseResult) -> Double {
        switch kind {
        case .megabytes: one.megabytesPerSecond ?? 0
        case .units: one.unitsPerSecond
        case .milliseconds: one.milliseconds
        }
    }

    fileprivate func number(_ value: Double) -> String {
        if kind == .units {
            for (size, name) in [(1e6, " M"), (1e3, " k")] where value >= size {
                return fixed(value / size, value < 10 * size ? 2 : 1) + name
            }
        }
        return fixed(value, value < 10 ? 2 : value < 100 ? 1 : 0)
    }
}
