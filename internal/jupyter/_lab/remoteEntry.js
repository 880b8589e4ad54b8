// The launcher's card "New certification": a notebook with the cells of a first certification. And a list for a Tab that
// is answered late. JupyterLab asks a prebuilt extension for init and get, and shares its packages.
(() => {
  let shared;
  const share = async (name) => (await Object.values(shared[name])[0].get())();
  const content = TEMPLATE;
  // JupyterLab drops a list that comes after a second, as the first may, for which completion loads. A word stands in
  // the page meanwhile, and who still waits at the same place is given the list.
  const listen = (app, panel, kernel, Notification) => {
    if (kernel?.name !== "certspec") return;
    const asked = new Map();
    const place = () => {
      const cell = panel.content.activeCell;
      return JSON.stringify([cell?.model.id, cell?.editor?.getCursorPosition(), cell?.model.sharedModel.getSource()]);
    };
    const ended = (id) => {
      const request = asked.get(id);
      asked.delete(id);
      clearTimeout(request?.timer);
      if (request?.word) Notification.dismiss(request.word);
      return request;
    };
    kernel.statusChanged.connect((_, status) => {
      if (/restarting|dead|terminating/.test(status)) for (const id of [...asked.keys()]) ended(id);
    });
    kernel.anyMessage.connect((_, { msg, direction }) => {
      if (direction === "send" && msg.header.msg_type === "complete_request") {
        const request = { place: place() };
        request.timer = setTimeout(() => {
          request.word = Notification.emit("Tab: names are loading. Their list comes by itself.", "in-progress",
            { autoClose: false });
        }, 1000);
        asked.set(msg.header.msg_id, request);
      } else if (msg.header.msg_type === "complete_reply") {
        const request = ended(msg.parent_header.msg_id);
        if (request?.word && app.shell.currentWidget === panel && place() === request.place) {
          app.commands.execute("completer:invoke-notebook");
        }
      }
    });
  };
  const container = {
    init: (scope) => { shared = scope; },
    get: async () => {
      const { ILauncher } = await share("@jupyterlab/launcher");
      const { INotebookTracker } = await share("@jupyterlab/notebook");
      const { Notification } = await share("@jupyterlab/apputils");
      const plugin = {
        id: "certspec:new",
        autoStart: true,
        requires: [ILauncher, INotebookTracker],
        activate: (app, launcher, notebooks) => {
          notebooks.widgetAdded.connect((_, panel) => {
            const session = panel.sessionContext;
            session.kernelChanged.connect((_, { newValue }) => listen(app, panel, newValue, Notification));
            listen(app, panel, session.session?.kernel, Notification);
          });
          const command = "certspec:new";
          app.commands.addCommand(command, {
            label: "New certification",
            caption: "A notebook that certifies a model of yours",
            execute: async (args) => {
              const files = app.serviceManager.contents;
              const file = await files.newUntitled({ path: args.cwd ?? "", type: "notebook" });
              await files.save(file.path, { type: "notebook", format: "json", content });
              return app.commands.execute("docmanager:open", { path: file.path });
            },
          });
          const kernelIconUrl = "data:image/svg+xml," + encodeURIComponent('LOGO');
          launcher.add({ command, category: "Notebook", rank: 0, kernelIconUrl });
        },
      };
      return () => ({ __esModule: true, default: plugin });
    },
  };
  (window._JUPYTERLAB ??= {})["certspec"] = container;
})();
