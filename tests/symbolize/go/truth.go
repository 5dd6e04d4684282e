// SPDX-License-Identifier: MIT

// Says what Go's own reader of its function table (debug/gosym) knows of addresses, which stand on standard input, one a line:
// "ADDRESS<TAB>FUNCTION<TAB>FILE<TAB>LINE", of the function that nothing was inlined into, and the line of the innermost call.
// usage: truth FILE
package main

import (
	"bufio"
	"debug/elf"
	"debug/gosym"
	"debug/macho"
	"fmt"
	"os"
	"strconv"
)

func open(path string) (table []byte, text uint64, err error) {
	if file, problem := elf.Open(path); problem == nil {
		section := file.Section(".gopclntab")
		if section == nil {
			section = file.Section(".data.rel.ro.gopclntab")
		}
		table, err = section.Data()
		return table, file.Section(".text").Addr, err
	}
	file, err := macho.Open(path)
	if err != nil {
		return
	}
	table, err = file.Section("__gopclntab").Data()
	return table, file.Section("__text").Addr, err
}

func main() {
	data, text, err := open(os.Args[1])
	if err != nil {
		panic(err)
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text))
	if err != nil {
		panic(err)
	}
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		address, err := strconv.ParseUint(in.Text(), 0, 64)
		if err != nil {
			panic(err)
		}
		file, line, function := table.PCToLine(address)
		name := "-"
		if function != nil {
			name = function.Name
		}
		fmt.Fprintf(out, "0x%x\t%s\t%s\t%d\n", address, name, file, line)
	}
}
