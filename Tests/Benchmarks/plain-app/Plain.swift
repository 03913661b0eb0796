/// The app to compare `KitApp` with: the same without the SDK. It uses concurrency, as apps do.
import Glibc

@main @MainActor final class PlainApp {
    static func main() async { PlainApp().didFinishLaunching() }

    func didFinishLaunching() {
        var byte: UInt8 = 1
        write(1, &byte, 1)
        exit(0)
    }
}
