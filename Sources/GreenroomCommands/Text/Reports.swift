import Glibc
import GreenroomControl
import Varlink

// What verbs print about a reply.

enum Report {
    /// The parameters of a reply as one line of JSON.
    static func json(_ value: some ParametersEncodable) -> String {
        var writer = JSONWriter()
        writer.beginObject()
        value.encodeMembers(to: &writer)
        writer.endObject()
        return writer.text.harmlessJSON + "\n"
    }

    static func apps(
        _ own: [Control.AppSummary], ofSystem: [Control.AppSummary] = [],
        _ appearance: Appearance = .plain, ofOthers: Bool = false, folder: String? = nil,
        desktopCount: Int = 0
    ) -> String {
        let apps =
            own.filter { app in
                // The system's daemon shows more of the app than the user's own, which only refuses
                // it.
                app.refusal?.code != Control.Note.ofSystem
                    || !ofSystem.contains { $0.identifier == app.identifier }
            } + ofSystem
        if apps.isEmpty {
            return ofOthers
                ? "No installed app runs as you. Only root and members of the ObserveGroups= "
                    + "of greenroom.conf see those of other users.\n"
                : (desktopCount > 0
                    ? "No app has a manifest; \"greenroomctl list --desktop\" shows those of desktop "
                        + "entries. " : "No apps are installed. ")
                    + "Manifests go to " + (folder ?? "/etc/greenroom/apps").harmless + ".\n"
        }
        let hasBoth = !ofSystem.isEmpty
        var table = Table(
            ["APP", "NAME", "STATE", "PREWARMED", "DEPTH", "SAVES", "RUNNING"]
                + (hasBoth ? ["DAEMON"] : []))
        for (index, app) in apps.enumerated() {
            let pool =
                app.isEligible ? "\(app.prewarmedCount) of \(app.prewarmTarget)" : "ineligible"
            let refusal = app.refusal.map(word)
            table.add(
                [
                    app.identifier, app.name ?? "", refusal ?? app.state.words,
                    refusal == nil ? pool : "-", depth(of: app),
                    app.savedUSec.map {
                        (app.isSavingEstimated ? "~" : "") + Phrase.duration(uSec: $0)
                    } ?? "-",
                    String(app.runningCount),
                ] + (hasBoth ? [index < apps.count - ofSystem.count ? "yours" : "system's"] : []),
                styles: [
                    2: refusal == "refused" ? Style.bad : app.state.style,
                    3: app.isEligible ? nil : Style.faint,
                ].compactMapValues { $0 })
        }
        return table.text(appearance)
            + apps.map { app in
                app.refusal.map { "\(app.identifier.harmless): \($0.text.harmless)\n" } ?? ""
            }.joined()
    }

    private static func depth(of app: Control.AppSummary) -> String {
        guard let depth = app.depth else { return "-" }
        return depth.rawValue + (app.profile == nil ? "" : ", by profile")
    }

    /// Why an app is not installed, in a word.
    private static func word(_ refusal: Control.Note) -> String {
        switch refusal.code {
        case "masked": "masked"
        case Control.Note.ofSystem: "system's"
        default: "refused"
        }
    }

    static func desktopApps(_ apps: [Control.AppSummary], _ appearance: Appearance) -> String {
        if apps.isEmpty { return "No app has a desktop entry that is shown in menus.\n" }
        var table = Table("APP", "NAME", "STATE", "ACTIONS")
        for app in apps {
            let actions = (app.desktop?.actions ?? []).map(\.identifier).joined(separator: ", ")
            table.add(
                [app.identifier, app.name ?? "", app.state.words, actions],
                styles: [2: app.state.style].compactMapValues { $0 })
        }
        return table.text(appearance)
    }

    static func instances(
        _ instances: [Control.InstanceStatus], now: Int64, _ appearance: Appearance = .plain
    ) -> String {
        if instances.isEmpty { return "No instances.\n" }
        var table = Table("INSTANCE", "APP", "STATE", "SINCE", "PID", "LAUNCH", "MEMORY")
        for instance in instances {
            var launch = Phrase.launch(
                instance.kind, instance.coldReason, anew: instance.anewReason)
            if let elapsed = instance.launchElapsedUSec {
                launch += ", " + Phrase.duration(uSec: elapsed)
            }
            table.add(
                [
                    String(instance.instance), instance.app,
                    instance.exit.map { Phrase.exit($0) } ?? instance.state.words,
                    Phrase.age(uSec: now - instance.sinceTimestampUSec),
                    instance.processId.map { String($0) } ?? "-", launch,
                    instance.byteCount.map(Phrase.bytes) ?? "-",
                ],
                styles: [2: instance.exit?.style ?? instance.state.style]
                    .compactMapValues { $0 })
        }
        return table.text(appearance) + instances.map { scenes($0) + threads($0) }.joined()
    }

    /// A line for a paused instance that has more threads than the one that paused.
    private static func threads(_ instance: Control.InstanceStatus) -> String {
        guard let areFrozen = instance.areThreadsFrozen else { return "" }
        return "instance \(instance.instance): its other threads "
            + (areFrozen ? "are frozen until its launch\n" : "keep running\n")
    }

    /// The scenes below the table, for instances that have any.
    private static func scenes(_ instance: Control.InstanceStatus) -> String {
        (instance.scenes ?? []).map {
            "instance \(instance.instance), scene \($0.session): \($0.activation.words)\n"
        }.joined()
    }

    /// A line for each facility that the daemon lacks; empty if it lacks none.
    static func degradation(
        _ notes: [Control.Note], _ appearance: Appearance = .plain
    ) -> String {
        notes.map { appearance.styled("degraded:", .notable) + " \($0.text.harmless)\n" }.joined()
    }

    static func launched(_ launched: Control.Launched, app: String) -> String {
        let process = launched.processId.map { ", process \($0)" } ?? ""
        let again = launched.isRepeated ? " (launched before)" : ""
        let how = Phrase.launch(launched.kind, launched.coldReason, anew: launched.anewReason)
        let time = Phrase.duration(uSec: launched.elapsedUSec)
        return "\(app.harmless): instance \(launched.instance)\(process): \(how), \(time)\(again)\n"
    }

    static func event(_ event: Control.Event, _ appearance: Appearance = .plain) -> String {
        var line = appearance.styled(Phrase.timeOfDay(uSec: event.timestampUSec), .faint)
        if let app = event.app { line += "  " + app.harmless }
        if let instance = event.instance { line += " \(instance)" }
        line += "  " + appearance.styled(event.summary.harmless, event.style)
        return event.text.isEmpty ? line + "\n" : line + ": " + event.text.harmless + "\n"
    }

    private static func canBePrewarmed(_ explanation: Control.Explanation) -> String {
        if explanation.isEligible { return "yes" }
        let wantsManifest = explanation.reasons.contains { $0.code == "desktop_entry" }
        return wantsManifest ? "once it has a manifest" : "no"
    }

    static func explanation(
        _ explanation: Control.Explanation, _ appearance: Appearance = .plain
    ) -> String {
        var text = appearance.styled(explanation.app.harmless, .heading) + "\n"
        text += "  can be prewarmed: \(canBePrewarmed(explanation))\n"
        text += "  prewarmed: \(explanation.prewarmedCount) of \(explanation.prewarmTarget)"
        if let count = explanation.prewarmByteCount { text += ", \(Phrase.bytes(count))" }
        if let depth = explanation.depth { text += ", paused \(depth.place)" }
        text += "\n"
        if let retry = explanation.retryAfterUSec {
            text += "  next try in: \(Phrase.duration(uSec: retry))\n"
        }
        if let launch = explanation.lastLaunch {
            text += "  last launch: instance \(launch.instance), "
            text += Phrase.launch(launch)
            // The time is not known if an earlier daemon served the launch, or if no client asked
            // for it.
            if launch.elapsedUSec > 0 { text += ", \(Phrase.duration(uSec: launch.elapsedUSec))" }
            if let ready = launch.readyUSec {
                text += ", ready after \(Phrase.duration(uSec: ready))"
            }
            text += "\n"
            if let caller = launch.caller { text += "    by \(Phrase.caller(caller))\n" }
            if let exit = launch.exit {
                text += "    \(Phrase.exit(exit, after: launch.ranUSec))\n"
            }
        } else {
            text += "  last launch: none\n"
        }
        if let confinement = explanation.confinement {
            text += "  confined by:\n"
            for key in confinement { text += "    \(key.harmless)\n" }
        }
        text += explanation.supervision.map(supervision) ?? ""
        text += explanation.rank.map(rank) ?? ""
        for reason in explanation.reasons { text += "  - \(reason.text.harmless)\n" }
        return text
    }
}

extension Control.Event {
    fileprivate var summary: String {
        guard let kind = kind.known else { return kind.rawValue }
        return switch kind {
        case .stateChanged:
            "\(from?.words ?? "?") -> \(to?.words ?? "?")"
                + (elapsedUSec.map { ", ready after " + Phrase.duration(uSec: $0) } ?? "")
        case .launched:
            "launched: \(Phrase.launch(launchKind, coldReason, anew: anewReason))"
                + (elapsedUSec.map { ", " + Phrase.duration(uSec: $0) } ?? "")
                + (caller.map { ", by " + Phrase.caller($0) } ?? "")
        case .exited: exit.map { Phrase.exit($0, after: ranUSec) } ?? "ended"
        case .reclaimed:
            "reclaimed" + (byteCount.map { " " + Phrase.bytes($0) } ?? "")
                + (from.map { ", was \($0.words)" } ?? "")
                + (pressure.map { ": memory pressure is \($0.rawValue)" } ?? "")
        case .launchScreenShown: "launch screen shown: \(launchScreen?.file ?? "?")"
        case .launchScreenDropped:
            "launch screen dropped after \(Phrase.duration(uSec: elapsedUSec ?? 0)) (\(step ?? "?"))"
        case .pressureChanged: "memory pressure is \(pressure?.rawValue ?? "?")"
        case .eventsLost: "events were lost"
        case .pagedOut: "paged out" + (byteCount.map { " " + Phrase.bytes($0) } ?? "")
        case .prewarmFailed: "prewarm failed" + again
        case .crashLooped: "keeps crashing" + again
        case .appsChanged: "apps changed"
        case .restartScheduled: "restart scheduled" + again
        case .failed: "failed"
        case .sceneChanged:
            "scene \(session ?? "?"): \(activation?.words ?? "?")"
        case .slowStep: "\(step ?? "?") is slow"
        case .missedStep: "\(step ?? "?") did not return in time"
        case .stateKept: "state kept"
        case .stateRefused: "state not kept"
        case .stateDeleted: "state deleted"
        case .launchStep:
            "\(step ?? "?")" + (elapsedUSec.map { " after " + Phrase.duration(uSec: $0) } ?? "")
        case .backgroundTimeExpiring: "background time is about to end"
        case .taskBegan: "runs \(task ?? "?")"
        case .taskEnded: "\(task ?? "?"): \(outcome?.words ?? "ended")"
        }
    }

    fileprivate var style: Style? {
        guard let kind = kind.known else { return nil }
        return switch kind {
        case .stateChanged: to?.style
        case .launched, .appsChanged, .sceneChanged, .launchStep, .stateKept, .launchScreenShown,
            .launchScreenDropped:
            nil
        case .stateRefused, .stateDeleted: .notable
        case .taskBegan: nil
        case .slowStep, .backgroundTimeExpiring: .notable
        case .taskEnded: outcome == .succeeded ? nil : .notable
        case .missedStep: .bad
        case .exited: exit?.style
        case .reclaimed, .restartScheduled, .pressureChanged, .pagedOut: .notable
        case .prewarmFailed, .crashLooped, .failed, .eventsLost: .bad
        }
    }

    private var again: String {
        retryAfterUSec.map { ", next try in " + Phrase.duration(uSec: $0) } ?? ""
    }
}

extension Control.Word<Control.ExecutionState> {
    var style: Style? { known.flatMap(\.style) }
}

extension Control.ExecutionState {
    fileprivate var style: Style? {
        switch self {
        case .active: .good
        case .suspended, .terminating: .notable
        case .notRunning: .faint
        case .prewarming, .prewarmed, .launching, .inactive, .background: nil
        }
    }
}

extension Control.ExitRecord {
    var style: Style? {
        guard let reason = reason.known else { return nil }
        if reason.row.isBad { return .bad }
        return reason == .exitedSelf && status != 0 ? .notable : .faint
    }
}
