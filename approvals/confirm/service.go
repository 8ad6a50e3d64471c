package confirm

import (
	"encoding/json"
	"time"

	"github.com/apdesk/apdesk/models"
)

// Times a confirmation and its answer live.
const (
	DefaultExpiry = 3600 * time.Second     // of a question, when the asker gives none
	MaxExpiry     = 7 * 24 * time.Hour     // of a question
	AnswerLife    = 24 * time.Hour         // of an answer that nobody takes
	maxReason     = 4000                   // characters of a reason people give
	maxArguments  = 1 << 20                // bytes of a call's arguments
	maxTool       = 200                    // characters of a tool's name
	maxServerName = 200                    // characters
	defaultRole   = models.RoleFinanceLead // answers where no server rule names a role
)

// Actions, as the security page and SECURITY_BLOCKED name them.
const (
	ActionRequest  = "request_confirmation"
	ActionGet      = "get_confirmation"
	ActionTake     = "take_confirmation"
	ActionWithdraw = "withdraw_confirmation"
)

// Service keeps forwarded confirmations, the rules for foreign servers, and the actions a workspace
// forbids. Make it with New.
type Service struct {
	store  *models.Store
	sealer *Sealer
}

// New makes the service. The secret key is the desk's own, the same on every replica.
func New(store *models.Store, secretKey []byte) (*Service, error) {
	sealer, err := NewSealer(store, secretKey)
	if err != nil {
		return nil, err
	}
	return &Service{store: store, sealer: sealer}, nil
}

// Sealer seals and spends the state of the desk's own questions.
func (s *Service) Sealer() *Sealer { return s.sealer }

// RequestInput forwards another server's question about one of its calls.
type RequestInput struct {
	ServerName       string
	ServerURL        string
	Tool             string
	Arguments        json.RawMessage // of the call, the raw bytes as sent
	InputRequests    json.RawMessage // object of key to {method, params}, the raw bytes as sent
	RequestStateHash string          // hex SHA-256 of the server's requestState; empty when it sent none
	RunID            string
	Invoice          *models.Invoice
	ExpiresIn        *int64 // seconds; nil for an hour
}

// View is what reading a confirmation shows: its state and never its answer.
type View struct {
	ConfirmationID string                    `json:"confirmation_id"`
	Status         models.ConfirmationStatus `json:"status"`
	URL            string                    `json:"url"` // of its page; filled by the web layer
	ExpiresAt      models.Time               `json:"expires_at"`
}

// TakeInput collects the answer for the call it was asked about.
type TakeInput struct {
	ID             string
	IdempotencyKey string
	ServerName     string // may be left out; another one is another call
	ServerURL      string
	Tool           string
	Arguments      json.RawMessage // the raw bytes as sent
}

// TakeResult is the answer in the form of the protocol: key to {action, content?}.
type TakeResult struct {
	ConfirmationID string                     `json:"confirmation_id"`
	InputResponses map[string]json.RawMessage `json:"input_responses"`
}

// AnswerInput is one person's answer. Content holds the values posted for each field, under its
// FormName: the field's name, or <key>.<name> when the confirmation has several requests.
type AnswerInput struct {
	ID      string
	Action  models.ElicitAction
	Content map[string][]string
	Reason  string
	Version int64 // of the confirmation as the person saw it
	// SecondStep says that the person, shown once more what they accept, means it.
	SecondStep bool
	// Figures reads a decimal as the person's language writes it; nil: only the plain form counts.
	Figures func(typed string) string
}
