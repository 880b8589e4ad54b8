// The launcher's card "New certification": a notebook with the cells of a first certification. JupyterLab asks a
// prebuilt extension for init and get, and shares its packages.
(() => {
  let shared;
  const share = async (name) => (await Object.values(shared[name])[0].get())();
  const content = TEMPLATE;
  const container = {
    init: (scope) => { shared = scope; },
    get: async () => {
      const { ILauncher } = await share("@jupyterlab/launcher");
      const plugin = {
        id: "certspec:new",
        autoStart: true,
        requires: [ILauncher],
        activate: (app, launcher) => {
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
