// What is used of SQS's client as one module of its own, which the bundles that need it have beside them
// (see bundle.ts).
export {
  ChangeMessageVisibilityBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
