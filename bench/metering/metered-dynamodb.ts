import {
  type Command,
  type Input,
  isConditional,
  isWrite,
  type Row,
  rowKindOf,
  type Sender,
  verbOf,
  withInput,
} from './commands.ts'
import {
  askForOldRow,
  cancelledWriteUnits,
  hideOldRow,
  isCancelled,
  isRefused,
  isThrottled,
  refusedWriteUnits,
} from './failed-write.ts'
import type { Meter } from './meter.ts'

type DynamodbMetering = {
  readonly meter: Meter
  /** Waits as long as a request is under way. */
  latency(): Promise<void>
  /** Sees each row that a single write left behind, as the table's stream would show it. */
  onRow?(row: Row): void
}

type Capacity = { readonly CapacityUnits?: number }
type Answer = {
  readonly ConsumedCapacity?: Capacity | readonly Capacity[]
  readonly Attributes?: Row
}

/** A document client that counts, and takes its time. */
export function meterDynamodb(inner: Sender, metering: DynamodbMetering): Sender {
  const { meter, latency, onRow } = metering
  return {
    async send(command: Command) {
      const input = command.input as Input
      const verb = verbOf(command)
      const kind = `${verb} ${rowKindOf(input)}`
      const asked = ask(verb, input, onRow !== undefined)
      await latency()
      try {
        const answer: Answer = await inner.send(withInput(command, asked))
        const units = capacityOf(answer)
        meter.add(kind, { requests: 1, [isWrite(verb) ? 'writeUnits' : 'readUnits']: units })
        const row = verb === 'put' ? input.Item : answer.Attributes
        if (row !== undefined && asked.ReturnValues !== 'ALL_OLD') onRow?.(row)
        return input.ReturnValues === asked.ReturnValues ? answer : withoutAttributes(answer)
      } catch (error) {
        meter.add(kind, { requests: 1, ...failure(input, error) })
        if (isRefused(error) || isCancelled(error)) hideOldRow(input, error)
        throw error
      }
    },
  }
}

function ask(verb: string, input: Input, rowsToo: boolean): Input {
  const withCapacity = { ...input, ReturnConsumedCapacity: 'INDEXES' }
  const asked =
    isConditional(verb) || verb === 'transactwrite' ? askForOldRow(withCapacity) : withCapacity
  // DynamoDB returns rows for free, so asking for one changes no figure.
  const seesRow = rowsToo && verb === 'update' && (input.ReturnValues ?? 'NONE') === 'NONE'
  return seesRow ? { ...asked, ReturnValues: 'ALL_NEW' } : asked
}

function failure(input: Input, error: unknown) {
  if (isRefused(error)) return { failedWrites: 1, writeUnits: refusedWriteUnits(input, error) }
  if (isCancelled(error)) return { failedWrites: 1, writeUnits: cancelledWriteUnits(input, error) }
  return { throttled: isThrottled(error) ? 1 : 0 }
}

function capacityOf({ ConsumedCapacity: consumed }: Answer): number {
  if (consumed === undefined) return 0
  const all = Array.isArray(consumed) ? (consumed as Capacity[]) : [consumed as Capacity]
  return all.reduce((units, { CapacityUnits = 0 }) => units + CapacityUnits, 0)
}

function withoutAttributes({ Attributes: _, ...rest }: Answer): Answer {
  return rest
}
