// A queue of one case, by the commands of the SDK.

import {
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  type Message,
  PurgeQueueCommand,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  SendMessageCommand,
  type SendMessageCommandInput,
  SetQueueAttributesCommand,
  type SQSServiceException,
} from '@aws-sdk/client-sqs'
import type { Service } from './services.ts'

type Attributes = Record<string, string>
type Sending = Partial<Omit<SendMessageCommandInput, 'QueueUrl'>>
type Receiving = Partial<Omit<ReceiveMessageCommandInput, 'QueueUrl'>>

let queuesMade = 0
const run = `${process.pid.toString(36)}${Date.now().toString(36)}`

/** FIFO queues of the kind that inboxes are. */
export const highThroughput: Attributes = {
  FifoQueue: 'true',
  FifoThroughputLimit: 'perMessageGroupId',
  DeduplicationScope: 'messageGroup',
}
export const fifo: Attributes = { FifoQueue: 'true' }
export const standard: Attributes = {}

export class Place {
  readonly service: Service
  readonly #urls: string[] = []

  constructor(service: Service) {
    this.service = service
  }

  queue(attributes: Attributes): Promise<AQueue> {
    return this.#make(attributes, attributes.FifoQueue ? '.fifo' : '')
  }

  /** By its name, whatever its attributes say. */
  standardQueue(attributes: Attributes): Promise<AQueue> {
    return this.#make(attributes, '')
  }

  async #make(attributes: Attributes, suffix: string): Promise<AQueue> {
    const QueueName = `pushpop-conformance-${run}-${queuesMade++}${suffix}`
    const { client } = this.service
    const { QueueUrl = '' } = await client.send(
      new CreateQueueCommand({ QueueName, Attributes: attributes }),
    )
    this.#urls.push(QueueUrl)
    return new AQueue(this.service, QueueUrl)
  }

  pass(seconds: number): Promise<void> {
    return this.service.pass(seconds)
  }

  async clean(): Promise<void> {
    const { client } = this.service
    // A case may have dropped its queue.
    await Promise.all(
      this.#urls.map((QueueUrl) =>
        client.send(new DeleteQueueCommand({ QueueUrl })).catch((error: Error) => {
          if (error.name !== 'QueueDoesNotExist') throw error
        }),
      ),
    )
  }
}

export class AQueue {
  readonly url: string
  readonly #service: Service
  #sent = 0

  constructor(service: Service, url: string) {
    this.#service = service
    this.url = url
  }

  get client() {
    return this.#service.client
  }

  send(body: string, more: Sending = {}) {
    const input = { QueueUrl: this.url, MessageBody: body, ...more }
    return this.client.send(new SendMessageCommand(input))
  }

  /** One after the other into a group, by ids of their own: `a1` is the body of group a's. */
  async sendInto(group: string, ...bodies: readonly string[]): Promise<void> {
    for (const body of bodies) {
      this.#sent += 1
      await this.send(body, { MessageGroupId: group, MessageDeduplicationId: `d${this.#sent}` })
    }
  }

  sendBatch(...Entries: SendMessageBatchRequestEntry[]) {
    return this.client.send(new SendMessageBatchCommand({ QueueUrl: this.url, Entries }))
  }

  /** Ten at most, if there are any. */
  async receive(more: Receiving = {}): Promise<Message[]> {
    const { Messages = [] } = await this.client.send(
      new ReceiveMessageCommand({
        QueueUrl: this.url,
        MaxNumberOfMessages: 10,
        WaitTimeSeconds: this.#service.waitSeconds,
        MessageSystemAttributeNames: ['All'],
        MessageAttributeNames: ['All'],
        ...more,
      }),
    )
    return Messages
  }

  async receiveBodies(more: Receiving = {}): Promise<string[]> {
    return bodies(await this.receive(more))
  }

  /** The only one that there is. */
  async receiveOne(more: Receiving = {}): Promise<Message> {
    const messages = await this.receive({ MaxNumberOfMessages: 1, ...more })
    const [message] = messages
    if (message && messages.length === 1) return message
    throw new Error(`There were ${messages.length} messages`)
  }

  delete({ ReceiptHandle }: Message) {
    return this.client.send(new DeleteMessageCommand({ QueueUrl: this.url, ReceiptHandle }))
  }

  deleteBatch(...messages: readonly Message[]) {
    const Entries = messages.map(({ ReceiptHandle }, Id) => ({ Id: String(Id), ReceiptHandle }))
    return this.client.send(new DeleteMessageBatchCommand({ QueueUrl: this.url, Entries }))
  }

  purge() {
    return this.client.send(new PurgeQueueCommand({ QueueUrl: this.url }))
  }

  drop() {
    return this.client.send(new DeleteQueueCommand({ QueueUrl: this.url }))
  }

  get name(): string {
    return this.url.split('/').at(-1) ?? ''
  }

  /** A queue beside this one that nobody has made. */
  elsewhere(name: string): AQueue {
    return new AQueue(this.#service, `${this.url}-${name}`)
  }

  async makeAgain(Attributes: Attributes): Promise<string | undefined> {
    const input = { QueueName: this.name, Attributes }
    return (await this.client.send(new CreateQueueCommand(input))).QueueUrl
  }

  /** The queues whose names begin with this one's and `suffix`. */
  async list(suffix: string): Promise<string[] | undefined> {
    const input = { QueueNamePrefix: `${this.name}${suffix}` }
    return (await this.client.send(new ListQueuesCommand(input))).QueueUrls
  }

  async addressByName(): Promise<string | undefined> {
    return (await this.client.send(new GetQueueUrlCommand({ QueueName: this.name }))).QueueUrl
  }

  changeVisibility({ ReceiptHandle }: Message, VisibilityTimeout: number) {
    return this.client.send(
      new ChangeMessageVisibilityCommand({ QueueUrl: this.url, ReceiptHandle, VisibilityTimeout }),
    )
  }

  setAttributes(Attributes: Attributes) {
    return this.client.send(new SetQueueAttributesCommand({ QueueUrl: this.url, Attributes }))
  }

  async attributes(): Promise<Attributes> {
    const { Attributes = {} } = await this.client.send(
      new GetQueueAttributesCommand({ QueueUrl: this.url, AttributeNames: ['All'] }),
    )
    return Attributes
  }
}

export const bodies = (messages: readonly Message[]): string[] =>
  messages.map(({ Body = '' }) => Body)

/** The code of the query protocol, which SQS documents, or `ok`. */
export async function outcomeOf(request: Promise<unknown>): Promise<string> {
  try {
    await request
    return 'ok'
  } catch (error) {
    const { Error: detail, name } = error as SQSServiceException & { Error?: { Code?: string } }
    return detail?.Code ?? name
  }
}
