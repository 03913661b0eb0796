public import Varlink

/// A kind of record that the history keeps and returns in pages.
public protocol HistoryRecord: ParametersEncodable, Hashable, Sendable {
    /// The member of a page that contains the records.
    static var pageMember: String { get }

    init(_ object: JSONObject) throws(ServiceError)
}

extension Control {
    /// Records of the history, the latest first, as `History` and `PauseHistory` return them.
    public struct HistoryPage<Record: HistoryRecord>: Hashable, Sendable {
        public var records: [Record]
        /// The value for `before` in the next call; nil if there are no more records.
        public var next: Int64?
        /// The user who asks has turned the history off.
        public var isOff = false

        public init(_ records: [Record] = [], next: Int64? = nil) {
            self.records = records
            self.next = next
        }
    }
}

extension Control.HistoryPage: ParametersEncodable {
    public func encodeMembers(to writer: inout JSONWriter) {
        writer.member(Record.pageMember, objects: records)
        writer.member("next", ifPresent: next)
        writer.member("off", isOff)
    }

    init(_ object: JSONObject) throws(ServiceError) {
        self.init()
        for member in object.members {
            switch member.name {
            case Record.pageMember:
                records = try member.objects(Record.init)
            case "next": next = try member.optionalInteger()
            case "off": isOff = try member.bool()
            case _: break
            }
        }
    }
}
