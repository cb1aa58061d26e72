// The little that metering must know about a command: what it is, what it writes, and to which rows.
// It tells commands apart by class name, because they may come from another copy of the library.

export type Command = { readonly input: object }

/** The `send` of the AWS clients, without the types of single commands. */
export type Sender = { send(command: Command): Promise<object> }

export type Row = Readonly<Record<string, unknown>>

export type Input = {
  readonly Key?: Row
  readonly Item?: Row
  readonly ExpressionAttributeValues?: Row
  readonly ReturnValues?: string
  readonly ReturnValuesOnConditionCheckFailure?: 'ALL_OLD' | 'NONE'
  readonly TransactItems?: readonly Readonly<Record<string, Input>>[]
  readonly RequestItems?: Readonly<Record<string, unknown>>
}

/** `UpdateCommand` and `UpdateItemCommand` are both `update`. */
export const verbOf = (command: Command): string =>
  command.constructor.name.replace(/(Item|Object|ObjectsV2)?Command$/, '').toLowerCase()

const conditional = new Set(['put', 'update', 'delete'])
export const isConditional = (verb: string): boolean => conditional.has(verb)
export const isWrite = (verb: string): boolean => conditional.has(verb) || /write$/.test(verb)

/** The same command with another input; the caller's own object stays as it is. */
export function withInput<C extends Command>(command: C, input: object): C {
  const Constructor = command.constructor as new (input: object) => C
  return new Constructor(input)
}

/** `q#`, `s#`, `b#`, `i#`: the kind of row a command is about, from the first key it names. */
export function rowKindOf(input: Input): string {
  const [entry] = input.TransactItems ?? []
  if (entry !== undefined) return rowKindOf(Object.values(entry)[0] ?? {})
  const rows = [input.Key, input.Item, input.ExpressionAttributeValues]
  for (const row of rows) {
    for (const value of Object.values(row ?? {})) {
      if (typeof value === 'string' && value[1] === '#') return value.slice(0, 2)
    }
  }
  const [request] = Object.values(input.RequestItems ?? {})
  return request === undefined ? '' : rowKindOfRequest(request)
}

type Batched = {
  readonly PutRequest?: Input
  readonly DeleteRequest?: Input
}

function rowKindOfRequest(request: unknown): string {
  if (Array.isArray(request)) {
    const { PutRequest, DeleteRequest } = request[0] as Batched
    return rowKindOf(PutRequest ?? DeleteRequest ?? {})
  }
  const [Key] = (request as { readonly Keys?: readonly Row[] }).Keys ?? []
  return Key === undefined ? '' : rowKindOf({ Key })
}
