internal import GreenroomLinux
internal import GreenroomManifest

extension TimeZoneRules {
    /// This machine's.
    static let local = TimeZoneRules(LocalZone.offset(at:))
}
