package jupyter

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/certspec/certspec/internal/atomicfile"
)

var (
	//go:embed _lab/remoteEntry.js
	labExtension string
	//go:embed _lab/template.go.txt
	templateText string
	//go:embed _lab/logo.svg
	logo string // a certified ball, of the kernel and, in orange, of the card
)

// template is the notebook of a first certification.
func template() map[string]any {
	var cells []any
	for i, text := range strings.Split(strings.TrimSpace(templateText), "\n~~~\n") {
		cell := map[string]any{"cell_type": "markdown", "id": fmt.Sprintf("certification-%d", i),
			"metadata": map[string]any{}, "source": text}
		if i > 0 {
			cell["cell_type"], cell["execution_count"], cell["outputs"] = "code", nil, []any{}
		}
		cells = append(cells, cell)
	}
	return map[string]any{"nbformat": 4, "nbformat_minor": 5, "cells": cells, "metadata": map[string]any{
		"kernelspec":    map[string]string{"name": KernelName, "display_name": DisplayName, "language": "go"},
		"language_info": map[string]string{"name": "go", "pygments_lexer": "go"},
	}}
}

// installLauncher puts a card into JupyterLab's launcher: an extension that needs no build and no package.
func installLauncher(dataDir string) error {
	content, err := json.Marshal(template())
	if err != nil {
		return err
	}
	dir := filepath.Join(dataDir, "labextensions", KernelName)
	description, err := json.MarshalIndent(map[string]any{"name": KernelName, "version": "1.0.0",
		"jupyterlab": map[string]any{"extension": true,
			"_build": map[string]string{"load": "static/remoteEntry.js", "extension": "./extension"}}}, "", "  ")
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(dir, "package.json"), append(description, '\n')); err != nil {
		return err
	}
	script := strings.NewReplacer("TEMPLATE", string(content), "LOGO",
		strings.TrimSpace(strings.ReplaceAll(logo, "#0072b2", "#d55e00"))).Replace(labExtension)
	return atomicfile.Write(filepath.Join(dir, "static", "remoteEntry.js"), []byte(script))
}
