/// The result of each event in each phase of an instance: the table of States/Transitions.swift,
/// deliberately written a second time. A test runs each pair and compares the two.
public struct PhaseTable: Sendable {
    public let lines: [String]

    private init(_ text: String) {
        lines = text.split(separator: "\n").map(String.init)
    }

    public static let program = PhaseTable(
        """
                      pw  pa  or  go  st  in  ac  bg  fr  fz  en  em  ed
        spawned       .   .   st  .   .   .   .   .   .   .   .   .   .
        spawnFailed   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .   .
        paused        pa  .   .   en  .   .   .   .   .   .   .   .   .
        started       .   .   .   st  .   .   .   .   .   .   .   .   .
        channelLost   en  en  .   en  .   .   .   .   .   .   .   .   .
        becameReady   .   .   ac  ac  ac  .   .   .   .   .   .   .   .
        acknowledged  .   .   .   .   .   .   .   .   .   .   .   .   .
        frozen        .   .   .   .   .   .   .   .   fz  .   .   .   .
        freezeFailed  .   .   .   .   .   .   .   .   bg  bg  .   .   .
        exited        em  em  em  em  em  em  em  em  em  em  em  .   .
        emptied       .   .   .   .   .   .   .   .   .   .   .   ed  .
        deadline      en  en  en  en  en  .   .   fr  fz  .   .   .   .
        becameStale   en  en  .   .   .   .   .   .   .   .   .   .   .
        misfired      en  en  .   .   .   .   .   .   .   .   .   .   .
        found nothing .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
        found remains .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
        no channel    en  en  .   .   .   .   .   .   .   .   .   .   .
        unfit         .   .   .   en  .   .   .   .   .   .   .   .   .
        unheard       .   .   .   .   ac  .   .   .   .   .   .   .   .
        foreground    --  --  .   .   .   ac  .   ac  ac  ac  --  --  --
        background    --  --  .   .   .   bg  bg  .   bg  bg  --  --  --
        suspend       --  --  --  --  --  fr  fr  fr  .   .   --  --  --
        resume        --  --  .   .   .   .   .   .   bg  bg  --  --  --
        interrupt     --  --  .   .   .   .   in  --  --  --  --  --  --
        endInterrupt  --  --  .   .   .   ac  .   .   .   .   --  --  --
        terminate     en  en  en  en  en  en  en  en  en  en  .   .   --
        forceQuit     en  en  en  en  en  en  en  en  en  en  .   .   --
        """)

    public static let acknowledging = PhaseTable(
        """
                      pw  pa  or  go  st  ar  in  ac  bg  fr  fz  en  em  ed
        spawned       .   .   st  .   .   .   .   .   .   .   .   .   .   .
        spawnFailed   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .   .
        paused        pa  .   .   en  .   .   .   .   .   .   .   .   .   .
        started       .   .   .   st  .   .   .   .   .   .   .   .   .   .
        channelLost   en  en  .   en  .   .   .   .   .   .   .   .   .   .
        becameReady   .   .   in  in  in  .   .   .   .   .   .   .   .   .
        acknowledged  .   .   .   .   .   in  ac  .   .   .   .   .   .   .
        frozen        .   .   .   .   .   .   .   .   .   fz  .   .   .   .
        freezeFailed  .   .   .   .   .   .   .   .   .   bg  bg  .   .   .
        exited        em  em  em  em  em  em  em  em  em  em  em  em  .   .
        emptied       .   .   .   .   .   .   .   .   .   .   .   .   ed  .
        deadline      en  en  .   en  .   .   .   .   fr  fz  .   .   .   .
        becameStale   en  en  .   .   .   .   .   .   .   .   .   .   .   .
        misfired      en  en  .   .   .   .   .   .   .   .   .   .   .   .
        found nothing .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
        found remains .   ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  ed  .
        no channel    en  en  .   .   .   .   .   .   .   .   .   .   .   .
        unfit         .   .   .   en  .   .   .   .   .   .   .   .   .   .
        unheard       .   .   .   .   .   .   .   .   .   .   .   .   .   .
        foreground    --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
        background    --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
        suspend       --  --  --  --  --  --  .   .   fr  .   .   --  --  --
        resume        --  --  .   .   .   .   .   .   .   bg  bg  --  --  --
        interrupt     --  --  .   .   .   .   .   .   --  --  --  --  --  --
        endInterrupt  --  --  .   .   .   .   .   .   .   .   .   --  --  --
        terminate     en  en  en  en  en  en  en  en  en  en  en  .   .   --
        forceQuit     en  en  en  en  en  en  en  en  en  en  en  .   .   --
        """)
}
