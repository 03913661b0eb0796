internal import Glibc
internal import GreenroomControl
internal import Systemd

/// What serves clients.
@LoopActor
struct ControlRooms {
    let settings: ControlSettings
    let reload: Reload
    let replies: Replies
    let handler: ControlHandler

    init(
        _ shared: SharedRooms, _ memory: MemoryRooms, _ measuring: MeasuringRooms,
        _ history: HistoryRooms, _ launching: LaunchingRooms,
        _ conversation: ConversationRooms, _ machine: MachineRooms, _ prepared: borrowing Prepared
    ) throws {
        let (core, catalog, instances) = (shared.core, shared.catalog, shared.instances)
        let (requests, reclaimer, work) = (shared.requests, memory.reclaimer, conversation.work)
        let (installer, options) = (machine.installer, prepared.options)
        settings = ControlSettings(
            access: try Access(prepared.configuration, log: shared.log),
            limits: ControlListener.Limits(prepared.configuration))
        reload = Reload(
            file: ConfigurationFile(options), settings: settings, core: core,
            events: shared.events, reclaimer: reclaimer, work: work, metrics: measuring.metrics,
            history: history.history, planning: history.planning,
            installer: installer, degradations: shared.degradations, log: shared.log)
        prepared.configurationNote.map(shared.degradations.note)
        let authorization = Authorization(
            core: core, catalog: catalog, installer: installer, settings: settings)
        let objections = PrewarmObjections(core: core)
        let depths = Depths(core: core, catalog: catalog, objections: objections)
        let descriptions = Descriptions(
            core: core, catalog: catalog, instances: instances, authorization: authorization,
            objections: objections, depths: depths, loader: machine.loader, spawner: shared.spawner,
            traces: measuring.traces, screens: measuring.screens, work: work,
            degradations: shared.degradations, surroundings: Control.Surroundings(options))
        replies = Replies(
            core: core, catalog: catalog, instances: instances, authorization: authorization,
            objections: objections, conditions: reclaimer.conditions)
        handler = ControlHandler(
            requests: requests, events: shared.events, authorization: authorization,
            reportCalls: ReportCalls(
                installer: installer, authorization: authorization, descriptions: descriptions,
                explanations: Explanations(
                    core: core, catalog: catalog, reclaimer: reclaimer, objections: objections,
                    depths: depths, importLists: shared.importLists),
                metrics: measuring.metrics),
            launchCalls: LaunchCalls(
                core: core, requests: requests, authorization: authorization,
                contexts: launching.contexts, launches: launching.launches,
                display: SessionDisplay(daemon: prepared.environment, user: getuid())),
            instanceCalls: InstanceCalls(
                core: core, instances: instances, requests: requests,
                authorization: authorization),
            applicationCalls: ApplicationCalls(
                core: core, catalog: catalog, requests: requests, authorization: authorization,
                launches: launching.launches, opening: conversation.opening,
                machine: machine.events, locks: machine.locks),
            historyCalls: HistoryCalls(authorization: authorization, history: history.history),
            taskCalls: TaskCalls(
                core: core, catalog: catalog, requests: requests, authorization: authorization,
                work: work),
            foregroundCalls: ForegroundCalls(
                core: core, catalog: catalog, instances: instances, authorization: authorization),
            learning: machine.learning,
            administrationCalls: AdministrationCalls(
                authorization: authorization, reload: reload, pressure: reclaimer.pressure,
                checking: ManifestChecking(
                    loader: machine.loader, catalog: catalog, sockets: installer.sockets,
                    log: shared.log)))
    }
}

extension Control.Surroundings {
    fileprivate init(_ options: Options) {
        self.init(
            runtimeDirectory: options.runtimeDirectory,
            configurationFile: options.configurationFile,
            appDirectories: options.appDirectories, shimFile: options.shimPath,
            spawnerFile: options.spawnerPath, spawnerProcessId: nil)
    }
}
