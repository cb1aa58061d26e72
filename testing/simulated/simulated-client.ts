import type { S3Client } from '@aws-sdk/client-s3'
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { SimulatedRequest, SimulatedStore } from './simulated-store.ts'

/**
 * The network between a writer and the store. It may call `apply` at once, later, or never, and answer with the
 * result or with a fault.
 */
export interface Network {
  deliver<T>(request: SimulatedRequest, apply: () => T): Promise<T>
}

export type DocumentSender = Pick<DynamoDBDocumentClient, 'send'>
export type ObjectSender = Pick<S3Client, 'send'>

/** One virtual writer's view of the store, with the `send` of the SDK's two clients. */
interface SimulatedClient {
  readonly dynamodb: DocumentSender
  readonly s3: ObjectSender
}

/** Applies at once and answers: the network of tests that are not about the network. */
export const perfectNetwork: Network = {
  async deliver(_request, apply) {
    return apply()
  },
}

interface Command {
  readonly input: object
}

export function createSimulatedClient(
  store: SimulatedStore,
  network: Network = perfectNetwork,
): SimulatedClient {
  const sender = (service: SimulatedRequest['service']) => ({
    send(command: Command): Promise<unknown> {
      const { input } = command
      const request: SimulatedRequest = { service, name: command.constructor.name, input }
      const sentMs = store.nowMs()
      return network.deliver(request, () => store.apply(request, sentMs))
    },
  })
  return {
    dynamodb: sender('dynamodb') as unknown as DocumentSender,
    s3: sender('s3') as unknown as ObjectSender,
  }
}
