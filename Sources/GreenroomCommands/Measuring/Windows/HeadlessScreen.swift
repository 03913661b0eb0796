import Glibc

/// A screen for the windows of a measured program. It has no device, and nobody else sees it.
protocol HeadlessScreen: AnyObject {
    /// The variables by which a program finds this screen and no other.
    var variables: [String] { get }

    func showsWindow() throws(Failure) -> Bool
    func picture() throws(Failure) -> [UInt8]

    /// Whether the screen visibly differs from the picture now.
    func differs(from picture: [UInt8]) throws(Failure) -> Bool

    func end()
}

/// The kinds of screens, in the order in which they are tried.
enum ScreenKind: String, CaseIterable {
    case x11
    case wayland

    var name: String {
        switch self {
        case .x11: "X11"
        case .wayland: "Wayland"
        }
    }

    /// The programs that a screen of this kind needs, with their packages in Debian.
    var needs: [(program: String, package: String)] {
        switch self {
        case .x11: [("Xvfb", "xvfb")]
        case .wayland: [("sway", "sway"), ("swaymsg", "sway"), ("grim", "grim")]
        }
    }
}

/// How much two pictures differ, counted in parts of their bytes.
struct PictureDifference {
    static let partByteCount = 4096
    /// How many parts the pointer's shape or a cursor covers at most: two for each of its lines. A
    /// window covers more.
    private static let pointerPartCount = 64

    private var count = 0
    var isSeen: Bool { count > Self.pointerPartCount }

    /// Pictures of different sizes differ.
    static func isSeen(_ picture: [UInt8], _ other: [UInt8]) -> Bool {
        guard picture.count == other.count else { return true }
        var difference = PictureDifference()
        difference.add(picture[...], other[...])
        return difference.isSeen
    }

    /// Adds parts of two pictures that are equally long, from a multiple of a part's size on.
    mutating func add(_ part: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) {
        unsafe part.withUnsafeBytes { part in
            unsafe other.withUnsafeBytes { other in
                for offset in stride(from: 0, to: part.count, by: Self.partByteCount) {
                    let length = min(Self.partByteCount, part.count - offset)
                    let isSame =
                        unsafe memcmp(
                            part.baseAddress! + offset, other.baseAddress! + offset, length) == 0
                    if !isSame { count += 1 }
                }
            }
        }
    }
}
