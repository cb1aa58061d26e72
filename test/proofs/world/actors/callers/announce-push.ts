import type { Model } from '../../checkers/model.ts'
import type { Operation } from './operation.ts'

/** Tells the model which items a call is about to push, before any request leaves. */
export function announcePush({ ledger }: Model, operation: Operation): void {
  const { command } = operation
  if (command.verb === 'push') {
    const texts = command.request.items.map(({ text }) => text)
    ledger.announce(operation, command.queue, texts, command.request.idempotencyKey)
  } else if (command.verb === 'pushTransactItem') {
    ledger.announce(operation, command.queue, [command.item.text])
  } else if ('rest' in command) {
    for (const push of command.pushes ?? []) {
      ledger.announce(
        operation,
        command.queue,
        push.map(({ text }) => text),
      )
    }
  } else if (command.verb === 'transact') {
    ledger.announce(
      operation,
      command.queue,
      command.items.map(({ text }) => text),
    )
  }
}
