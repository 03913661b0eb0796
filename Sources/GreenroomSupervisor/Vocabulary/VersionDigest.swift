/// A number for a version. Versions are compared for equality only, so the number may differ in
/// each process.
enum VersionDigest {
    static func of(_ version: String) -> UInt64 { UInt64(bitPattern: Int64(version.hashValue)) }
}
