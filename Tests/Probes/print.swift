#if canImport(Glibc)
    import Glibc
#endif

print(CommandLine.arguments, getenv("A").map { String(cString: $0) } ?? "-")
