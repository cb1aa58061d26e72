import type { Expression } from '../../foundation/expression.ts'
import type { QueueRecord } from '../core/record.ts'
import { recordUpdate } from './record-update.ts'

/** Marks that nothing is free, on condition that nothing was appended and nothing came back since we saw the record. */
export function dryUpdate(seen: QueueRecord): ReturnType<Expression['build']> {
  const update = recordUpdate()
  update.condition(`born=${update.value(seen.born)}`)
  update.condition(`a=${update.value(seen.appends)}`)
  update.condition(`g=${update.value(seen.returns)}`)
  update.set('dry', 'y')
  return update.build()
}
