public import Varlink

extension Control {
    /// What a shell shows until an app has drawn.
    public struct LaunchScreen: Hashable, Sendable {
        /// The file that the app's manifest names.
        public var file: String
        /// When it was to be shown: CLOCK_REALTIME in microseconds.
        public var shownTimestampUSec: Int64

        public init(file: String, shownTimestampUSec: Int64) {
            self.file = file
            self.shownTimestampUSec = shownTimestampUSec
        }
    }

    /// UIInterfaceOrientation.
    public enum Orientation: String, CaseIterable, Sendable {
        case portrait
        case portraitUpsideDown = "portrait_upside_down"
        case landscapeLeft = "landscape_left"
        case landscapeRight = "landscape_right"
    }

    /// UIUserInterfaceSizeClass, for the width.
    public enum SizeClass: String, CaseIterable, Sendable {
        case compact
        case regular
    }
}

extension Control.LaunchScreen: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member("file", file)
        writer.member("shownTimestampUSec", shownTimestampUSec)
    }

    init?(ifPresent member: JSONObject.Member) throws(ServiceError) {
        if member.value == .null { return nil }
        self.init(file: "", shownTimestampUSec: 0)
        for member in try member.object().members {
            switch member.name {
            case "file": file = try member.text()
            case "shownTimestampUSec": shownTimestampUSec = try member.integer()
            case _: break
            }
        }
    }
}
