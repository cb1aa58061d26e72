// In virtual time nobody waits for a file: what the engine loads when a call first needs it is loaded before.
import '../../engine/seldom-verbs.ts'
