"""The tests, which compute with one thread a process, as workers do; libraries read that when they are loaded."""

from winnow.pipelines.processes.identity import limit_threads

limit_threads()
