// The parts of SQS's client that we use, as one separate module beside the bundles that need it (see bundle.ts).
export {
  ChangeMessageVisibilityBatchCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs'
