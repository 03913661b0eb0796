import GreenroomAppChannel
import GreenroomLinux

extension Check {
    static let credentials: [Check] = [
        .init("credentials may come later; the app keeps no more than one file of them") {
            (bench) throws(Fault) in
            let client = try bench.launched(.cold, [.foreground, .namesCredentials])
            try client.tell(.didBecomeActive)
            let before = entries(client.file("fd")).count
            for word in ["first", "second", "third"] {
                let cookie = client.cookie()
                try client.send(
                    .event(.credentials(cookie: cookie)), descriptors: [try file(with: word)])
                try client.awaitAcknowledgement(of: cookie)
            }
            try client.tell(.protectedDataDidBecomeAvailable)
            try client.settle()
            let after = entries(client.file("fd")).count
            try require(after <= before + 1, "it keeps files of credentials that it had before")
        }
    ]

    /// More checks of credentials. They come last, so that the earlier checks keep their numbers.
    static let locking: [Check] = [
        .init("the app gives its credentials up when protected data becomes unavailable") {
            (bench) throws(Fault) in
            for event in [
                AppEvent.Lifecycle.protectedDataWillBecomeUnavailable, .protectedDataIsUnavailable,
            ] {
                let client = try bench.launched(.cold, [.foreground, .namesCredentials])
                try client.tell(.didBecomeActive)
                let before = entries(client.file("fd")).count
                let cookie = client.cookie()
                try client.send(
                    .event(.credentials(cookie: cookie)), descriptors: [try file(with: "word")])
                try client.awaitAcknowledgement(of: cookie)
                try client.tell(.protectedDataDidBecomeAvailable)
                try client.tell(event)
                try client.settle()
                let after = entries(client.file("fd")).count
                try require(after <= before, "it keeps its credentials after \(event)")
            }
        }
    ]

    private static func file(with word: String) throws(Fault) -> FileDescriptor {
        let bytes = CredentialFile.bytes(of: [("conformance", Array(word.utf8))])
        do throws(SystemError) {
            return try unsafe bytes.span.bytes.withUnsafeBytes { bytes throws(SystemError) in
                unsafe try SealedFile.create(bytes, name: "conformance")
            }
        } catch {
            throw Fault("a file of this check cannot be made: \(error)")
        }
    }
}
