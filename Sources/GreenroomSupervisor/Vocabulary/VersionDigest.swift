/// Versions are compared, never ordered: the core knows them by a number, another in each process.
enum VersionDigest {
    static func of(_ version: String) -> UInt64 { UInt64(bitPattern: Int64(version.hashValue)) }
}
