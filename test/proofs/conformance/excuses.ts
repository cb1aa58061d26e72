// Where an implementation of somebody else differs from AWS, and what says so. `npm run conformance` expects these
// cases to fail there: one that passes is no excuse any more, and fails the run.

import { dynamodbLocal, elasticmq, minio } from './engines/engines.ts'

/** By what the case says: what the engine does instead, and the page or the recording by which AWS does as it says. */
type Reasons = Readonly<Record<string, string>>

const ofDynamodbLocal: Reasons = {
  'A transaction takes twice the units in the table, not in the indexes.':
    'bills an item below 1 KB 4 units; Developer Guide, Read and write operations: two for each 1 KB',
  'A query of nothing takes half a unit.':
    'bills nothing; Developer Guide, Read and write operations: charged even if no data exists',
  'A batch read is billed item by item.':
    'bills no missing key; Developer Guide, Read and write operations: an item that does not exist consumes, too',
  'An update may not bring a key that is too long into an index.':
    'measures the keys of an index only in a put; Developer Guide, Constraints: the limits of keys hold for indexes',
  'A key that is too long for an index is none in a row outside it.':
    'measures it also in a row that the index does not have; Developer Guide, Constraints',
  'An update of an index key to the wrong type is refused.':
    "refuses only the put; recorded by scylladb's test_gsi.py, test_gsi_wrong_type_attribute_update",
  'An update that does not fit the item cancels the transaction.':
    'answers ValidationException; TransactWriteItems: such an error is a reason of the cancellation, ValidationError',
  'A key of the wrong type cancels the transaction, before any condition is tried.':
    'looks at every action; TransactWriteItems: ValidationError is a reason of the cancellation',
  'REMOVE on a missing item makes no item.':
    'makes an item of nothing but its key, which AWS does not, as scylladb’s test/alternator and paritysuite’s dynamodb-conformance recorded',
  'REMOVE below a missing item changes nothing.':
    'refuses the path, which AWS does not, as scylladb’s test/alternator and paritysuite’s dynamodb-conformance recorded',
  'ALL_NEW of a REMOVE on a missing item returns nothing.':
    'makes the item, which AWS does not, as scylladb’s test/alternator and paritysuite’s dynamodb-conformance recorded',
}

const ofMinio: Reasons = {
  'A body that does not match its checksum is refused.':
    'refuses it by another code, XAmzContentChecksumMismatch; API Reference, Error Responses: BadDigest',
}

const ofElasticmq: Reasons = {
  'The sequence number has twenty digits and rises within a group.':
    'counts from 1; SendMessage: the number has 128 bits',
  'With the scope of a group, the same id in two groups is two messages.':
    'ignores the scope; CreateQueue: DeduplicationScope',
  'A message cannot be deleted by a handle whose time is over.':
    'deletes it; AWS: InvalidParameterValue, Reason: The receipt handle has expired',
  'A message is deleted twice without an error.':
    'refuses the second; DeleteMessage: a request with an old handle succeeds',
  'A FIFO queue has no dead letters in a standard queue.':
    'takes it; CreateQueue: the dead-letter queue of a FIFO queue must also be a FIFO queue',
  'A message may not have one byte more.':
    'refuses it as InvalidAttributeValue; SetQueueAttributes: that is for attributes of a queue',
  'Attributes count towards the size of a message.':
    'does not count them; Developer Guide, Message attributes: they are part of the size',
  'A message is no larger than its queue allows.':
    'has one limit for all queues; CreateQueue: MaximumMessageSize',
  'A message holds no control characters.':
    'refuses it by another code; SendMessage: InvalidMessageContents',
  'A message has ten attributes at most.':
    'refuses it as InvalidAttributeValue; SetQueueAttributes: that is for attributes of a queue',
  'A receive asks for ten messages at most.':
    'refuses it as InvalidAttributeValue; SetQueueAttributes: that is for attributes of a queue',
  'A receive waits twenty seconds at most.':
    'refuses it as InvalidAttributeValue; SetQueueAttributes: that is for attributes of a queue',
  'A message that is gone has no visibility to change.':
    'refuses it as ReceiptHandleIsInvalid; AWS: InvalidParameterValue, Reason: Message does not exist or is not available',
  'A visibility ends twelve hours after the receive.':
    'sets it anew; ChangeMessageVisibility: 12 hours in all, from the receive',
  'A delay of a queue is 900 seconds at most.': 'takes any; CreateQueue: DelaySeconds',
  'Dead letters need a queue that is there.':
    'answers that the queue does not exist; AWS: InvalidParameterValue, Reason: Dead letter target does not exist',
  'A batch has an entry.':
    'takes an empty one; recorded by LocalStack’s test_sqs.py, test_send_message_batch_with_empty_list',
  'An id of a batch holds no spaces.':
    'takes any; recorded by LocalStack’s test_sqs.py, test_invalid_batch_id',
  'A batch has 1 MiB at most in all.':
    'refuses it as InvalidAttributeValue; recorded by LocalStack’s test_sqs.py, test_send_message_batch_with_oversized_contents',
  'Attributes of each type come back as they were, and only those asked for.':
    'knows no prefix such as n.*; recorded by LocalStack’s test_sqs.py, test_receive_message_message_attribute_names_filters',
  'A receive tells only the system attributes that it was asked for.':
    'gives others as well; recorded by LocalStack’s test_sqs.py, test_receive_message_attribute_names_filters',
  'A queue tells its attributes, defaults too.': 'lacks some; GetQueueAttributes',
  'What is too old is gone.': 'keeps it; CreateQueue: MessageRetentionPeriod',
  'A purge leaves nothing, and the next one has to wait.':
    'takes the next one; PurgeQueue: PurgeQueueInProgress',
  'A list without queues has no field for them.':
    'has an empty list; AWS leaves the field out, as LocalStack’s test_sqs.py recorded, test_list_queues',
  'A standard queue does not become FIFO.':
    'takes it; recorded by LocalStack’s test_sqs.py, test_create_standard_queue_with_fifo_attribute_raises_error',
  'A standard queue has no FifoQueue.':
    'takes it; recorded by LocalStack’s test_sqs.py, test_create_standard_queue_with_fifo_attribute_raises_error',
  'A standard queue has no ContentBasedDeduplication.':
    'takes it; recorded by LocalStack’s test_sqs.py, test_create_standard_queue_with_fifo_attribute_raises_error',
  'A standard queue has no DeduplicationScope.':
    'takes it; recorded by LocalStack’s test_sqs.py, test_create_standard_queue_with_fifo_attribute_raises_error',
  'A standard queue has no FifoThroughputLimit.':
    'takes it; recorded by LocalStack’s test_sqs.py, test_create_standard_queue_with_fifo_attribute_raises_error',
  'FifoQueue may be True.': 'knows only true; CloudFormation sends True',
  'A name is free again a minute after its queue was deleted.':
    'takes it at once; recorded by LocalStack’s test_sqs.py, test_create_queue_recently_deleted',
  'One bad entry of a batch does no harm to the others.':
    'takes the bad one; SendMessageBatch: each entry has its own result',
  'A batch to a FIFO queue is refused if an entry lacks its MessageGroupId.':
    'takes it; recorded by LocalStack’s test_sqs.py, test_send_batch_missing_message_group_id_for_fifo_queue',
  'A batch to a FIFO queue is refused if an entry lacks its MessageDeduplicationId.':
    'takes it; recorded by LocalStack’s test_sqs.py, test_send_batch_missing_deduplication_id_for_fifo_queue',
  'An older handle changes the visibility, too.':
    'refuses it; recorded by LocalStack’s test_sqs.py, test_change_message_visibility_after_visibility_timeout_expiration',
}

export const excuses: ReadonlyMap<string, Reasons> = new Map([
  [dynamodbLocal.name, ofDynamodbLocal],
  [minio.name, ofMinio],
  [elasticmq.name, ofElasticmq],
])

/** Of the engines that this run is about. */
export function excuseOf(says: string): string | undefined {
  const engines = process.env.PUSHPOP_CONFORMANCE_ENGINES?.split(',') ?? []
  return engines.map((engine) => excuses.get(engine)?.[says]).find((reason) => reason !== undefined)
}
