import Glibc
import GreenroomControl

/// The entry, called by Sources/CGreenroomRun/start.c.
@_cdecl("main")
func main(
    _ count: CInt, _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> CInt {
    var words: [ByteString] = []
    words.reserveCapacity(Int(count))
    for index in 0..<Int(count) {
        guard let word = unsafe arguments[index] else { break }
        unsafe words.append(ByteString(cString: word))
    }
    do throws(HandOver) {
        return try BriefRun(words).perform()
    } catch {
        return error.execute(words)
    }
}
