import { RequestNotSentError } from '../../aws/failures.ts'

/** What an engine sends, seen and steered between its `send` and the store's. */

export type Request = {
  readonly service: 'dynamodb' | 's3'
  /** The command's class: `UpdateCommand`, `GetObjectCommand`, … */
  readonly name: string
  readonly input: Readonly<Record<string, unknown>>
}

export type Steering = {
  /** Runs before the request leaves: it may wait, or throw in place of the store. */
  readonly before?: (request: Request, number: number) => unknown
  /** Runs after the store has carried it out: an answer that is lost throws here. */
  readonly after?: (request: Request, number: number) => unknown
}

type Port = { send(command: never): Promise<unknown> }
type Command = { readonly input: Record<string, unknown> }

export class Wire {
  readonly sent: Request[] = []
  steering: Steering

  constructor(steering: Steering = {}) {
    this.steering = steering
  }

  through(service: Request['service'], port: Port): Port {
    return {
      send: async (command: never) => {
        const { input } = command as Command
        const { name } = (command as object).constructor
        const request = { service, name, input }
        const number = this.sent.push(request)
        await this.steering.before?.(request, number)
        const answer = await port.send(command)
        await this.steering.after?.(request, number)
        return answer
      },
    }
  }

  /** The names of what `work` sent. */
  async during(work: () => Promise<unknown>): Promise<string[]> {
    const from = this.sent.length
    await work()
    return this.sent.slice(from).map(({ name }) => name)
  }
}

/** Lets a rival write first, before each of so many writes under the fence: they lose their races. */
export function losingRaces(races: number, rival: (race: number) => Promise<unknown>) {
  const losing = {
    lost: 0,
    async before({ name, input }: Request) {
      const isFenced =
        name === 'UpdateCommand' && String(input.UpdateExpression).startsWith('SET v=')
      if (!isFenced || losing.lost === races) return
      losing.lost += 1
      await rival(losing.lost)
    },
  }
  return losing
}

/** Holds one request back until it is let go. */
export const freezeAt = (request: number): Frozen => freeze((_, number) => number === request)

/** The same for its first update of a row. */
export const freezeAtUpdate = (): Frozen => {
  let updates = 0
  return freeze(({ name }) => {
    if (name === 'UpdateCommand') updates += 1
    return name === 'UpdateCommand' && updates === 1
  })
}

/** The same for its first transaction. */
export const freezeAtTransaction = (): Frozen => {
  let transactions = 0
  return freeze(({ name }) => {
    if (name === 'TransactWriteCommand') transactions += 1
    return name === 'TransactWriteCommand' && transactions === 1
  })
}

/** The same for its puts. */
export const freezeAtPut = (): Frozen => freeze(({ name }) => name === 'PutCommand')

type Frozen = Steering & { reached: Promise<void>; thaw(): void }

function freeze(isIt: (request: Request, number: number) => boolean): Frozen {
  let thaw = (): void => {}
  let reach = (): void => {}
  const thawed = new Promise<void>((resolve) => {
    thaw = resolve
  })
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const before = (request: Request, number: number): Promise<void> | undefined => {
    if (!isIt(request, number)) return undefined
    reach()
    return thawed
  }
  return { before, reached, thaw: () => thaw() }
}

/** An error as the SDK gives it for a request that was never carried out, and says so. */
export const throttled = (): Error =>
  Object.assign(new Error('Rate exceeded'), { name: 'ThrottlingException' })

/** An error of our request handler for a request that never left. */
export const unsent = (): Error => new RequestNotSentError('dynamodb', new Error('no route'))

/** An error after which nobody knows. */
export const timedOut = (): Error =>
  Object.assign(new Error('socket hang up'), { name: 'TimeoutError', code: 'ECONNRESET' })
