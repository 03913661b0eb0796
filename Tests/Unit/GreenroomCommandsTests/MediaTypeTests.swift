import Testing

@testable import GreenroomCommands

@Suite struct `MIME types of file names` {
    private let list = MediaTypes(
        """
        # generated
        80:text/html:*.html
        60:text/x-python:*.py
        50:application/gzip:*.gz
        50:application/x-compressed-tar:*.tar.gz
        50:text/x-c++src:*.C:cs
        50:text/x-csrc:*.c
        50:text/x-makefile:makefile
        50:text/x-one:*.both
        50:text/x-two:*.both
        nonsense
        50:
        """)

    @Test(
        arguments: [
            ("a.html", "text/html"), ("A.HTML", "text/html"),
            ("a.tar.gz", "application/x-compressed-tar"),
            ("a.gz", "application/gzip"), ("a.c", "text/x-csrc"), ("Makefile", "text/x-makefile"),
            ("a.both", nil), ("a", nil), ("", nil),
        ] as [(String, String?)])
    func `the pattern with the highest weight, then the longest one, decides the type`(
        name: String, type: String?
    ) {
        #expect(list.type(ofFile: name) == type)
    }
}
