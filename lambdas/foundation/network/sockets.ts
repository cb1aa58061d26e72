// The connections of one client: kept open between requests, and not used once they may be dead.

import type { Agent, request } from 'node:http'
import type { Socket } from 'node:net'

type SocketOptions = {
  readonly socketsMax: number
  readonly idleMsMax: number
  /** The wall clock: it goes on while a process is frozen. */
  readonly nowMs: () => number
}

/**
 * Lambda freezes a process between two calls. Meanwhile the other end may close an idle connection, or a
 * device on the way may forget it, and the frozen process does not notice. A request that it writes to such
 * a socket after the thaw is lost, and nobody can tell whether it was carried out. So a socket that has
 * been idle
 *
 * - for longer than `idleMsMax`, or since a time in the future, is closed and not used;
 * - for a millisecond or more is used only after the event loop has read its input: its end may have
 *   arrived already, and otherwise the next call could come before the loop reads it.
 */
export class Sockets {
  readonly agent: Agent
  readonly request: typeof request
  /** No part of a request leaves before a new socket emits this. */
  readonly establishedBy: 'connect' | 'secureConnect'
  readonly #connecting = new WeakSet<object>()
  readonly #options: SocketOptions
  readonly #idleSinceMs = new WeakMap<object, number>()

  constructor(protocol: 'http:' | 'https:', options: SocketOptions) {
    this.#options = options
    // Never an `import` of node:http: as an ES module it loads workers and undici, 16 ms of a cold start.
    const { Agent, request } =
      protocol === 'http:'
        ? process.getBuiltinModule('node:http')
        : process.getBuiltinModule('node:https')
    this.request = request
    this.establishedBy = protocol === 'http:' ? 'connect' : 'secureConnect'
    this.agent = new Agent({ keepAlive: true, maxSockets: options.socketsMax })
    // Watch it from the start, because a socket can connect while no request holds it: the request for
    // which it was made may have been given up meanwhile.
    const create = this.agent.createConnection.bind(this.agent)
    this.agent.createConnection = (...how) => {
      const socket = create(...how)
      if (socket) {
        this.#connecting.add(socket)
        socket.once(this.establishedBy, () => this.#connecting.delete(socket))
      }
      return socket
    }
    const keep = this.agent.keepSocketAlive.bind(this.agent)
    this.agent.keepSocketAlive = (socket) => {
      // No request waits for it any more, and it may never connect.
      if (this.#connecting.has(socket)) return false
      this.#idleSinceMs.set(socket, options.nowMs())
      return keep(socket)
    }
  }

  /**
   * Whether nothing can have left on this socket yet. A socket that we do not know counts as established,
   * because a request that was carried out must never pass for one that was not sent.
   */
  isConnecting(socket: Socket): boolean {
    return this.#connecting.has(socket)
  }

  /** Resolves when idle connections may be used; `undefined` means at once. */
  ready(): Promise<void> | undefined {
    return this.#closeStale() > 0 ? this.#look() : undefined
  }

  async #look(): Promise<void> {
    // The loop may be past its sockets in this turn: the next one reads them before it ends.
    await endOfTurn()
    await endOfTurn()
    this.#closeStale()
  }

  /** Closes stale sockets; returns for how long the socket that the agent would use next has been idle, or 0. */
  #closeStale(): number {
    const { idleMsMax, nowMs } = this.#options
    const now = nowMs()
    let nextIdleMs = 0
    for (const sockets of Object.values(this.agent.freeSockets)) {
      let lastIdleMs = 0
      // Iterate over a copy, because a closed socket leaves the list. The agent takes the last one first.
      for (const socket of [...(sockets ?? [])]) {
        const idleMs = now - (this.#idleSinceMs.get(socket) ?? Number.NEGATIVE_INFINITY)
        if (idleMs >= 0 && idleMs <= idleMsMax && isOpen(socket)) lastIdleMs = idleMs
        else close(socket)
      }
      nextIdleMs = Math.max(nextIdleMs, lastIdleMs)
    }
    return nextIdleMs
  }
}

const isOpen = ({ destroyed, readable, writable }: Socket): boolean =>
  !destroyed && readable && writable

function close(socket: Socket): void {
  socket.destroy()
  // The agent would notice only a turn later, and use the socket meanwhile.
  socket.emit('agentRemove')
}

const endOfTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
