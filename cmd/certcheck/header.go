package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// header is the first line of a ledger: what was announced before the first noise sample was drawn.
// These are all its keys, in their order; those marked omitempty stand there only where they have a
// value.
type header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Program struct {
		Version string `json:"version"`
		Commit  string `json:"commit,omitempty"`
	} `json:"program"`
	Model network `json:"model"`
	Data  struct {
		Name   string      `json:"name"`
		Digest string      `json:"digest"`
		Images json.Number `json:"images"`
	} `json:"data"`
	Sigma      json.Number `json:"sigma"`
	Noise      string      `json:"noise"`
	Seed       string      `json:"seed"`
	SeedChosen bool        `json:"seed_chosen"`
	Alpha      json.Number `json:"alpha"`
	Selection  int         `json:"selection"`
	Block      int         `json:"block"`
	Rule       struct {
		Name      string      `json:"name"`
		Tolerance json.Number `json:"tolerance,omitempty"`
		Relative  bool        `json:"relative,omitempty"`
		Looks     []struct {
			Samples json.Number `json:"copies"`
			Alpha   json.Number `json:"alpha"`
		} `json:"looks"`
		Sizes []struct {
			Hits    json.Number `json:"hits"`
			Samples json.Number `json:"copies"`
		} `json:"sizes,omitempty"`
		Targets []struct {
			Radius      json.Number `json:"radius"`
			Probability string      `json:"probability"`
		} `json:"targets,omitempty"`
		Futility json.Number `json:"futility,omitempty"`
		Budget   string      `json:"budget"`
	} `json:"rule"`
	Order string `json:"order"`
	Shard *struct {
		By    string      `json:"by"`
		Index json.Number `json:"index"`
		Count json.Number `json:"count"`
	} `json:"shard,omitempty"`
	Scores string `json:"scores,omitempty"`
}

type network struct {
	Name  string `json:"name"`
	Shape struct {
		Height   json.Number `json:"height"`
		Width    json.Number `json:"width"`
		Channels json.Number `json:"channels"`
	} `json:"shape"`
	Classes  json.Number `json:"classes"`
	Identity identity    `json:"identity"`
}

type identity struct {
	Weights        string      `json:"weights"`
	Engine         string      `json:"engine"`
	EngineVersion  string      `json:"engine_version"`
	Threads        json.Number `json:"threads"`
	InstructionSet string      `json:"instruction_set"`
}

// read takes the first line. Two readers of one line must see the same header: so it has one form
// only, the bytes that it gives when it is written again. A key twice, in another case or order, an
// unknown one, or a blank gives another line.
func (h *header) read(line string) {
	err := json.Unmarshal([]byte(line), h)
	must(h.Format == "certspec-ledger" && h.Version >= 1 && h.Version <= 4 && err == nil,
		"not the header of a ledger of version 1 to 4%s", otherKind(line, h.Format, err))
	must((h.Version == 4) == (h.grey() != nil), "version %d with the noise %.40q", h.Version, h.Noise)
	var again bytes.Buffer
	enc := json.NewEncoder(&again)
	enc.SetEscapeHTML(false)
	err = enc.Encode(h)
	must(err == nil, "%v", err)
	want, at := strings.TrimSuffix(again.String(), "\n"), 0
	for at < min(len(line), len(want)) && line[at] == want[at] {
		at++
	}
	must(line == want, "the header has every known key once, in order, and no other; at byte %d %.40q is expected, "+
		"not %.40q", at, want[at:], line[at:])
}

// otherKind says what a file is that begins with a line, where it is no ledger, and what checks it.
func otherKind(line, format string, err error) string {
	switch {
	case format == "certspec-gate":
		return ": this is the record of a gate; certcheck --gate FILE checks it"
	case format == "certspec-strength":
		return ": this is a file of \"certspec prove\"; certcheck --strength FILE checks it"
	case format == "certspec-ood":
		return ": this is a file of confidences and their bounds (.ood); \"certspec ledger verify FILE\" checks it"
	case format == "certspec-scores":
		return ": these are the scores beside a ledger; name the ledger"
	case format != "" && format != "certspec-ledger":
		return fmt.Sprintf(": a file of the format %.40q", format)
	case strings.HasPrefix(line, "certspec-claims "):
		return ": these are claims on a ledger; certcheck --claims FILE LEDGER checks them"
	case strings.HasPrefix(line, `{"_type":"https://in-toto.io/`):
		return ": this is a statement; certcheck --statement FILE LEDGER checks it"
	case strings.HasPrefix(line, "idx\t"):
		return ": this is a published log, which has radii and no counts to derive them from"
	case line == "":
		return ": the file is empty"
	case err != nil:
		return fmt.Sprintf(": %v", err)
	}
	return ": its format or version is another"
}
