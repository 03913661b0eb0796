internal import UnitFile

/// `%` and a letter (systemd.unit(5), "Specifiers").
///
/// Specifiers about names are resolved from the manifest's name. For those listed here, the loader
/// of manifests provides the values, for the user that the app runs as.
public enum Specifier: Unicode.Scalar, CaseIterable, Sendable {
    case bootIdentifier = "b"
    case cacheDirectory = "C"
    case configurationDirectory = "E"
    case group = "g"
    case groupNumber = "G"
    case home = "h"
    case hostName = "H"
    case shortHostName = "l"
    case logDirectory = "L"
    case machineIdentifier = "m"
    case shell = "s"
    case stateDirectory = "S"
    case runtimeDirectory = "t"
    case temporaryDirectory = "T"
    case user = "u"
    case userNumber = "U"
    case kernelRelease = "v"
    case persistentTemporaryDirectory = "V"

    /// An example of a value, for callers that only check a manifest.
    var sample: String {
        switch self {
        case .cacheDirectory, .configurationDirectory, .home, .logDirectory, .shell,
            .stateDirectory, .runtimeDirectory, .temporaryDirectory, .persistentTemporaryDirectory:
            "/%\(rawValue)"
        case .groupNumber, .userNumber: "0"
        case .bootIdentifier, .group, .hostName, .shortHostName, .machineIdentifier, .user,
            .kernelRelease:
            "x"
        }
    }

    /// Whether the value depends on the user, so that `User=` itself must not contain the
    /// specifier.
    var isOfUser: Bool {
        switch self {
        case .cacheDirectory, .configurationDirectory, .group, .groupNumber, .home, .logDirectory,
            .shell, .stateDirectory, .runtimeDirectory, .user, .userNumber:
            true
        case .bootIdentifier, .hostName, .shortHostName, .machineIdentifier, .temporaryDirectory,
            .kernelRelease, .persistentTemporaryDirectory:
            false
        }
    }
}

/// Resolves the specifiers of one manifest.
struct Specifiers {
    /// Returns the value of a specifier on this system; nil if the value is unknown.
    typealias Lookup = (_ specifier: Specifier, _ user: String?) -> String?

    let name: ManifestName
    var lookup: Lookup?
    /// `User=`, once it has been read.
    var user: String?
    var isUserKnown = false

    func text(for letter: Unicode.Scalar) throws(ValueError) -> String {
        switch letter {
        case "%": return "%"
        case "n": return name.file
        case "N": return name.identifier
        case "p": return name.prefix
        case "P": return ManifestName.unescaped(name.prefix)
        case "i": return name.instance ?? ""
        case "I": return ManifestName.unescaped(name.instance ?? "")
        case "j": return lastPart
        case "J": return ManifestName.unescaped(lastPart)
        case _: return try worldly(letter)
        }
    }

    /// The part after the last `-` of the prefix.
    private var lastPart: String {
        name.prefix.split(separator: "-", omittingEmptySubsequences: false).last.map(String.init)
            ?? ""
    }

    private func worldly(_ letter: Unicode.Scalar) throws(ValueError) -> String {
        guard let specifier = Specifier(rawValue: letter) else {
            throw ValueError(
                message: "%\(letter) is not a specifier; write %% for a percent sign; "
                    + "greenroom.app(5) lists the specifiers")
        }
        guard isUserKnown || !specifier.isOfUser else {
            throw ValueError(message: "%\(letter) depends on the user, so User= cannot contain it")
        }
        // A caller that only checks a manifest need not provide values.
        guard let lookup else { return specifier.sample }
        guard let text = lookup(specifier, user) else {
            throw ValueError(message: "%\(letter) has no value on this machine")
        }
        return text
    }
}
