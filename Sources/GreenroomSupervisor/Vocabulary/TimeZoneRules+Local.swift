internal import GreenroomLinux
internal import GreenroomManifest

extension TimeZoneRules {
    /// The rules of this machine's time zone.
    static let local = TimeZoneRules(LocalZone.offset(at:))
}
