import Testing
import UnitFile

@Suite struct `A misspelled name` {
    @Test(arguments: [
        ("ffmpg", "org.ffmpeg.ffmpeg"), ("org.ffmpeg.fmpeg", "org.ffmpeg.ffmpeg"),
        ("Inkscape", "org.inkscape.inkscape"), ("gitt", "org.git.git"), ("gti", "org.git.git"),
        ("gxx", nil), ("zzz", nil), ("", nil), ("gt", nil), ("nosuch.app.x", nil),
    ])
    func `is answered with the nearest known name`(word: String, meant: String?) {
        let apps = ["org.ffmpeg.ffmpeg", "org.inkscape.inkscape", "org.git.git", "org.py.py"]
        #expect(Spelling.closest(to: word, among: apps) == meant)
    }
}
