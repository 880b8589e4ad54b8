package pipe

// Children are the process ids of the running programs. No call may be running.
func Children(m *Model) (pids []int) {
	for range m.options.Processes {
		s := <-m.slots
		if s.child != nil {
			pids = append(pids, s.child.command.Process.Pid)
		}
		m.slots <- s
	}
	return pids
}

// KillChildren kills the programs that serve no batch now, without a word to the model.
func KillChildren(m *Model) {
	for range m.options.Processes {
		select {
		case s := <-m.slots:
			if s.child != nil {
				s.child.command.Process.Kill()
			}
			m.slots <- s
		default:
		}
	}
}
